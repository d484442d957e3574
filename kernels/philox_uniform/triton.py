"""Philox uniforms, bit-equal to the reference."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.philox_uniform.reference import CONTRACT

WARPS = 4
BLOCK = 1024


@triton.jit
def uniform(seed, position, stream, index):
    """u(index) in (0, 1) of one request; index int32 [BLOCK]. Each lane makes its quad and takes one word of it."""
    quad = index // 4
    same = tl.zeros_like(quad)
    w0, w1, w2, w3 = tl.philox(seed, quad, same + position, same + stream, same)
    lane = index % 4
    word = tl.where(lane == 0, w0, tl.where(lane == 1, w1, tl.where(lane == 2, w2, w3)))
    return ((word >> 9).to(tl.float32) + 0.5) * 1.1920928955078125e-07


@triton.jit
def _philox_uniform(seeds, positions, out, stream, n, BLOCK: tl.constexpr):
    request = tl.program_id(0).to(tl.int64)
    index = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    position = tl.load(positions + request).to(tl.int32)
    u = uniform(tl.load(seeds + request), position, stream, index)
    tl.store(out + request * n + index, u, mask=index < n)


def philox_uniform(seeds: torch.Tensor, positions: torch.Tensor, stream: int, n: int) -> torch.Tensor:
    """Bit-equal to the reference; negative positions are not refused (that would wait for the device)."""
    batch = CONTRACT.check(seeds=seeds, positions=positions)["B"]
    if n < 0:
        raise ValueError(f"philox_uniform: n = {n} and positions {list(positions.shape)} must not be negative")
    out = torch.empty(batch, n, device=seeds.device)
    if batch and n:
        _philox_uniform[(batch, triton.cdiv(n, BLOCK))](seeds, positions, out, stream, n, BLOCK=BLOCK, num_warps=WARPS)
    return out


VARIANTS = [
    variant(_philox_uniform, WARPS, seeds="*i64", positions="*i64", out="*fp32", stream="i32", n="i32", BLOCK=BLOCK)
]
