"""Gated RMSNorm in few dispatches."""

from __future__ import annotations

import torch

from kernels.rms_norm_gated.reference import CONTRACT
from kernels.scalars import scalar


def rms_norm_gated(
    x: torch.Tensor,
    gate: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Same semantics as the reference; rows are independent of each other to the bit."""
    CONTRACT.check(x=x, gate=gate, weight=weight)
    wide = x if x.dtype is torch.float32 else x.float()
    norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    inverse = norm.mul_(norm).mul_(scalar(1 / x.shape[-1])).add_(scalar(eps)).rsqrt_()
    opening = torch.sigmoid(gate) if gate.dtype is torch.float32 else gate.float().sigmoid_()
    y = (wide * inverse).mul_(weight).mul_(opening)
    wanted = out_dtype or x.dtype
    return y if wanted is torch.float32 else y.bfloat16() if wanted is torch.bfloat16 else y.to(wanted)
