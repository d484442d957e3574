"""Causal depthwise convolution with SiLU over a stretch of one prompt, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("short_conv_prefill", x="T D | float", weight="4 D | f32", state="3 D | float")


def short_conv_prefill(
    x: torch.Tensor, weight: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """y_t = silu(sum_j weight[j] * x_{t-3+j}); the three inputs before the first come from `state`.

    x [T, D], T >= 1; weight [4, D] float32, tap-major, row 3 multiplies the current token; state [3, D] in
    x's dtype, oldest first (zeros at the start of a sequence). Returns y [T, D] float32 and the last three
    inputs [3, D]. ValueError on a shape that does not fit.
    Source: Kimi Linear technical report (2025), short convolution on packed q|k|v, no bias.
    """
    CONTRACT.check(x=x, weight=weight, state=state)
    if x.shape[0] < 1:
        raise ValueError(f"short_conv_prefill: x has shape {list(x.shape)}, expected [T, D] with T >= 1")
    inputs = torch.cat([state.to(x.dtype), x])
    wide = inputs.float()
    tokens = x.shape[0]
    total = torch.zeros_like(wide[:tokens])
    for tap in range(4):
        total = total + weight[tap] * wide[tap : tap + tokens]
    return torch.nn.functional.silu(total), inputs[-3:].clone()
