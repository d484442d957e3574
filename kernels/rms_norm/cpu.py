"""RMSNorm in few dispatches: `vector_norm` squares and sums a row in one call."""

from __future__ import annotations

import torch

from kernels.rms_norm.reference import CONTRACT
from kernels.scalars import scalar


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6, out_dtype: torch.dtype | None = None
) -> torch.Tensor:
    """Same semantics as the reference; each row is reduced alone, so its bits do not depend on the others."""
    CONTRACT.check(x=x, weight=weight)
    wide = x if x.dtype is torch.float32 else x.float()
    norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    inverse = norm.mul_(norm).mul_(scalar(1 / x.shape[-1])).add_(scalar(eps)).rsqrt_()
    y = (wide * inverse).mul_(weight)
    wanted = out_dtype or x.dtype
    return y if wanted is torch.float32 else y.bfloat16() if wanted is torch.bfloat16 else y.to(wanted)
