"""SwiGLU activation, tiles of a row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.silu_mul.reference import check_halves

WARPS = 4
BLOCK = 1024


@triton.jit
def _silu_mul(gate_up, y, F, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < F
    gate = tl.load(gate_up + row * 2 * F + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * F + F + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * F + column, (gate * tl.sigmoid(gate) * up).to(y.dtype.element_ty), mask=inside)


def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference."""
    width = check_halves(gate_up)
    gate_up = gate_up.contiguous()
    y = gate_up.new_empty(*gate_up.shape[:-1], width)
    rows = gate_up.numel() // (2 * width)
    if rows:
        _silu_mul[(rows, triton.cdiv(width, BLOCK))](gate_up, y, width, BLOCK=BLOCK, num_warps=WARPS)
    return y


VARIANTS = [variant(_silu_mul, WARPS, gate_up="*bf16", y="*bf16", F="i32", BLOCK=BLOCK)]
