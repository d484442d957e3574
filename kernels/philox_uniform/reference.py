"""Philox4x32-10 in 64-bit integer arithmetic, and uniforms made of it."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("philox_uniform", seeds="B | int", positions="B | int")

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
MASK = 0xFFFFFFFF


def philox(counter: list[torch.Tensor], key: list[torch.Tensor]) -> list[torch.Tensor]:
    """Philox4x32-10: four counter words and two key words -> four words; int64 tensors holding 0 .. 2^32 - 1.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
    """
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        # A product of two 32-bit words may pass 2^63: the int64 wraps, its 64 bits are still the product's.
        product0 = c0 * MULTIPLIERS[0]
        product1 = c2 * MULTIPLIERS[1]
        high0 = (product0 >> 32) & MASK
        high1 = (product1 >> 32) & MASK
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, product1 & MASK, high0 ^ c3 ^ k1, product0 & MASK
        k0 = (k0 + WEYL[0]) & MASK
        k1 = (k1 + WEYL[1]) & MASK
    return [c0, c1, c2, c3]


def philox_uniform(seeds: torch.Tensor, positions: torch.Tensor, stream: int, n: int) -> torch.Tensor:
    """u[b, i] in (0, 1), a function of (seeds[b], positions[b], stream, i) only.

    seeds [B] int64 (all 64 bits are the key); positions [B] int64 in 0 .. 2^32 - 1; stream in 0 .. 2^32 - 1;
    n numbers a row. Counter words: i // 4, position, stream, 0; word i % 4 of the output. The upper 23 bits x
    become (x + 1/2) / 2^23, exact in float32 and never 0 or 1. Returns [B, n] float32.
    ValueError on shapes, n < 0, or a negative position. Source: as `philox`; the layout of the counter is ours.
    """
    sizes = CONTRACT.check(seeds=seeds, positions=positions)
    if n < 0 or bool((positions < 0).any()):
        raise ValueError(f"philox_uniform: n = {n} and positions {list(positions.shape)} must not be negative")
    quads = torch.arange(-(-n // 4), device=seeds.device)
    shape = (sizes["B"], quads.shape[0])
    counter = [
        quads.expand(shape),
        (positions & MASK)[:, None].expand(shape),
        torch.full(shape, stream, device=seeds.device),
        torch.zeros(shape, dtype=torch.int64, device=seeds.device),
    ]
    key = [(seeds & MASK)[:, None], ((seeds >> 32) & MASK)[:, None]]
    words = torch.stack(philox(counter, key), dim=-1).flatten(1)[:, :n]
    return ((words >> 9).float() + 0.5) * 2.0**-23
