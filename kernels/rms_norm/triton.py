"""RMSNorm, one program a row."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.rms_norm.reference import CONTRACT

WARPS = 4


@triton.jit
def _rms_norm(x, weight, y, D, eps, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK_D)
    inside = column < D
    value = tl.load(x + row * D + column, mask=inside, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(value * value, axis=0) / D + eps)
    scaled = value * inverse * tl.load(weight + column, mask=inside, other=0.0)
    tl.store(y + row * D + column, scaled.to(y.dtype.element_ty), mask=inside)


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6, out_dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Same semantics as the reference."""
    CONTRACT.check(x=x, weight=weight)
    x = x.contiguous()
    y = torch.empty_like(x, dtype=out_dtype or x.dtype)
    rows = x.numel() // x.shape[-1]
    if rows:
        _rms_norm[(rows,)](x, weight, y, x.shape[-1], eps, BLOCK_D=triton.next_power_of_2(x.shape[-1]), num_warps=WARPS)
    return y


VARIANTS = [variant(_rms_norm, WARPS, x="*fp32", weight="*fp32", y="*bf16", D="i32", eps="fp32", BLOCK_D=256)]
