"""L2 normalisation of query and key heads, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("l2_norm", x="... D | f32")


def l2_norm(x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """y = x / sqrt(sum(x^2) + eps) over the last dimension; a zero row stays zero.

    x [..., D] float32, returns the same shape. ValueError if x is not float32 or its last stride is not one.
    Source: Kimi Linear technical report (2025), normalisation of q and k; eps inside the root as in
    flash-linear-attention 0.6.
    """
    CONTRACT.check(x=x)
    square_sum = x.square().sum(dim=-1, keepdim=True)
    return x * torch.rsqrt(square_sum + eps)
