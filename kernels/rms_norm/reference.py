"""RMSNorm as published, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("rms_norm", x="... D | float", weight="D | f32")


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6, out_dtype: torch.dtype | None = None
) -> torch.Tensor:
    """y = x / sqrt(mean(x^2) + eps) * weight, over the last dimension.

    x [..., D] float32, bfloat16 or float16; weight [D] float32. Returns [..., D] in `out_dtype` (default: x's),
    rounded once, from float32. ValueError on a shape or dtype that does not fit.
    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4.
    """
    CONTRACT.check(x=x, weight=weight)
    wide = x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide * torch.rsqrt(mean_square + eps) * weight).to(out_dtype or x.dtype)
