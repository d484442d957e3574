"""Greedy Markov step: bias and argmax of a vocabulary tile in one kernel, so the logits are never written."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.markov_greedy.reference import CONTRACT, check_step
from kernels.row_argmax.triton import merge, tile_best

WARPS = 4
BLOCK_V = 64


@triton.jit
def tile_logits(base, prev, w1, w2, row, ids, inside, V, R, BLOCK_R: tl.constexpr):
    """U + W2 W1[prev] for the ids of one tile, float32."""
    rank = tl.arange(0, BLOCK_R)
    live = rank < R
    state = tl.load(w1 + tl.load(prev + row) * R + rank, mask=live, other=0.0).to(tl.float32)
    # One tile's base pointer is 64 bits wide, offsets inside the tile are not: half the registers for addresses.
    tile = w2 + tl.min(ids, axis=0).to(tl.int64) * R
    local = ids - tl.min(ids, axis=0)
    head = tl.load(tile + local[:, None] * R + rank[None, :], mask=inside[:, None] & live[None, :], other=0.0).to(tl.float32)
    bias = tl.sum(head * state[None, :], axis=1)
    return tl.load(base + row * V + ids, mask=inside, other=-float("inf")).to(tl.float32) + bias


@triton.jit
def _markov_greedy(base, prev, w1, w2, best, best_id, V, R, TILES, BLOCK_V: tl.constexpr, BLOCK_R: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    ids = tile * BLOCK_V + tl.arange(0, BLOCK_V)
    logits = tile_logits(base, prev, w1, w2, row, ids, ids < V, V, R, BLOCK_R)
    largest, winner = tile_best(logits, ids, ids < V)
    tl.store(best + row * TILES + tile, largest)
    tl.store(best_id + row * TILES + tile, winner)


def matrix(w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """The matrix itself, or the one that a projection of `linear` was made from."""
    return getattr(w2, "weight", w2)


def markov_greedy(
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Same semantics as the reference; a projection's matrix is read directly and its output not rounded."""
    w2 = matrix(w2)
    sizes = check_step(CONTRACT, w2, base=base, prev=prev, w1=w1)
    rows, vocabulary, rank = sizes["B"], sizes["V"], sizes["r"]
    tiles = triton.cdiv(vocabulary, BLOCK_V)
    best = torch.empty(rows, tiles, device=base.device)
    best_id = torch.empty(rows, tiles, dtype=torch.int32, device=base.device)
    if rows:
        _markov_greedy[(rows, tiles)](
            base.contiguous(),
            prev,
            w1.contiguous(),
            w2.contiguous(),
            best,
            best_id,
            vocabulary,
            rank,
            tiles,
            BLOCK_V=BLOCK_V,
            BLOCK_R=triton.next_power_of_2(rank),
            num_warps=WARPS,
        )
    return merge(best, best_id)


VARIANTS = [
    variant(
        _markov_greedy,
        WARPS,
        base="*fp32",
        prev="*i64",
        w1="*bf16",
        w2="*bf16",
        best="*fp32",
        best_id="*i32",
        V="i32",
        R="i32",
        TILES="i32",
        BLOCK_V=BLOCK_V,
        BLOCK_R=64,
    )
]
