"""L2 normalisation in few dispatches."""

from __future__ import annotations

import torch

from kernels.l2_norm.reference import CONTRACT
from kernels.scalars import scalar


def l2_norm(x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Same semantics as the reference; rows are independent of each other to the bit."""
    CONTRACT.check(x=x)
    norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return x * norm.mul_(norm).add_(scalar(eps)).rsqrt_()
