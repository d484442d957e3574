"""Gated RMSNorm in few dispatches."""

from __future__ import annotations

import torch

from kernels.rms_norm_gated.reference import CONTRACT


def rms_norm_gated(
    x: torch.Tensor,
    gate: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Same semantics as the reference; rows are independent of each other to the bit."""
    if x.shape != gate.shape or x.shape[-1:] != weight.shape or weight.dtype is not torch.float32:
        CONTRACT.check(x=x, gate=gate, weight=weight)
    wide = x if x.dtype is torch.float32 else x.float()
    norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    inverse = norm.mul_(norm).div_(x.shape[-1]).add_(eps).rsqrt_()
    wide_gate = gate if gate.dtype is torch.float32 else gate.float()
    y = (wide * inverse).mul_(weight).mul_(torch.sigmoid(wide_gate))
    wanted = out_dtype or x.dtype
    return y if wanted is torch.float32 else y.to(wanted)
