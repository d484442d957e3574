"""Output normalisation of a KDA layer, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("rms_norm_gated", x="... D | float", gate="... D | float", weight="D | f32")


def rms_norm_gated(
    x: torch.Tensor,
    gate: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """y = rms_norm(x) * weight * sigmoid(gate): the norm comes first, the gate is not normalised.

    x, gate [..., D]; weight [D] float32. Returns [..., D] in `out_dtype` (default: x's).
    ValueError on a shape or dtype that does not fit.
    Source: Kimi Linear technical report (2025), output gate of a KDA layer.
    """
    CONTRACT.check(x=x, gate=gate, weight=weight)
    wide = x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    normed = wide * torch.rsqrt(mean_square + eps) * weight
    return (normed * torch.sigmoid(gate.float())).to(out_dtype or x.dtype)
