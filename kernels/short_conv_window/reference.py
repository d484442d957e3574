"""Causal depthwise convolution with SiLU over verify windows, in float32, with the state after each position."""

from __future__ import annotations

import torch

from kernels.contract import Contract
from kernels.kda_decode.reference import check_state_rows

CONTRACT = Contract(
    "short_conv_window",
    x="B W D | float",
    weight="4 D | f32",
    state="N 3 D | float",
    slots="B | int | optional",
)


def short_conv_window(
    x: torch.Tensor,
    weight: torch.Tensor,
    state: torch.Tensor,
    slots: torch.Tensor | None = None,
    buffer: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The convolution of `short_conv_prefill` for W positions of each of B requests.

    x [B, W, D]; weight [4, D] float32, tap-major, row 3 the current token; state [N, 3, D], oldest input
    first, only read; slots [B] int64 rows of state (None: N = B, row b is request b); buffer [B, W + 3, D] in x's dtype,
    optional scratch that receives state and inputs in order, so that the windows of many layers can lie in one tensor.
    Returns y [B, W, D] float32 and windows [W, B, 3, D] in x's dtype, windows[t] = the last three inputs after
    position t, so that committing c accepted drafts takes windows[c]. W = 1 is a decode step.
    ValueError on shapes that do not fit. Source: as `short_conv_prefill`.
    """
    sizes = CONTRACT.check(x=x, weight=weight, state=state, slots=slots)
    check_buffer(x, buffer)
    batch, window = sizes["B"], sizes["W"]
    check_state_rows("short_conv_window", state, batch, slots)
    before = state if slots is None else state[slots]
    inputs = torch.cat([before.to(x.dtype), x], dim=1)
    if buffer is not None:
        buffer.copy_(inputs)
    wide = inputs.float()
    total = torch.zeros_like(wide[:, :window])
    for tap in range(4):
        total = total + weight[tap] * wide[:, tap : tap + window]
    states = []
    for position in range(window):
        states.append(inputs[:, position + 1 : position + 4])
    return torch.nn.functional.silu(total), torch.stack(states)


def check_buffer(x: torch.Tensor, buffer: torch.Tensor | None) -> None:
    """The scratch holds W + 3 inputs a request, in x's dtype, each row of a request right after the one before."""
    batch, window, channels = x.shape
    if buffer is None:
        return
    if buffer.shape != (batch, window + 3, channels) or buffer.dtype != x.dtype:
        raise ValueError(
            f"short_conv_window: buffer has shape {list(buffer.shape)} and dtype {buffer.dtype}, "
            f"expected [{batch}, {window + 3}, {channels}] and {x.dtype}"
        )
    if buffer.stride()[1:] != (channels, 1):
        raise ValueError(
            f"short_conv_window: buffer {list(buffer.shape)} has strides {list(buffer.stride())}, expected [any, {channels}, 1]"
        )
