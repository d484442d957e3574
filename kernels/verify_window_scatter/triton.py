"""Scatter compact rows, one program a row and tile."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.verify_window_scatter.reference import check_values

WARPS = 4
BLOCK = 1024


@triton.jit
def _verify_window_scatter(values, rows, offsets, out, B, W, INNER, BLOCK: tl.constexpr):
    entry = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(rows + entry)
    offset = tl.load(offsets + entry)
    inside = (at < INNER) & (row >= 0) & (row < B) & (offset >= 0) & (offset < W)
    value = tl.load(values + entry * INNER + at, mask=inside)
    tl.store(out + (row * W + offset) * INNER + at, value, mask=inside)


def verify_window_scatter(
    values: torch.Tensor, rows: torch.Tensor, offsets: torch.Tensor, batch: int, window: int, fill: float = 0.0
) -> torch.Tensor:
    """Same semantics as the reference, except that an entry outside [batch, window] is skipped, not refused."""
    count = check_values(values, rows, offsets)
    out = torch.full((batch, window, *values.shape[1:]), fill, dtype=values.dtype, device=values.device)
    inner = math.prod(values.shape[1:])
    if count and inner:
        _verify_window_scatter[(count, triton.cdiv(inner, BLOCK))](
            values.contiguous(), rows, offsets, out, batch, window, inner, BLOCK=BLOCK, num_warps=WARPS
        )
    return out


VARIANTS = [
    variant(
        _verify_window_scatter,
        WARPS,
        values="*fp32",
        rows="*i64",
        offsets="*i64",
        out="*fp32",
        B="i32",
        W="i32",
        INNER="i32",
        BLOCK=BLOCK,
    )
]
