"""Verify-window convolution: one windowed view, no copy of the states."""

from __future__ import annotations

import torch

from kernels.kda_decode.reference import check_state_rows
from kernels.short_conv_window.reference import CONTRACT, check_buffer


def short_conv_window(
    x: torch.Tensor,
    weight: torch.Tensor,
    state: torch.Tensor,
    slots: torch.Tensor | None = None,
    buffer: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference. `windows` is a view of the B x (W + 3) inputs, of `buffer` if given.

    A position's bits depend on its four inputs only, whatever B and W are.
    """
    sizes = CONTRACT.check(x=x, weight=weight, state=state, slots=slots)
    batch, window, channels = sizes["B"], sizes["W"], sizes["D"]
    check_state_rows("short_conv_window", state, batch, slots)
    if slots is None:
        before = state
    elif batch == 1:
        before = state.narrow(0, int(slots), 1)
    else:
        before = state.index_select(0, slots)
    if buffer is None:
        inputs = torch.cat([before if before.dtype is x.dtype else before.to(x.dtype), x], dim=1)
    else:
        check_buffer(x, buffer)
        inputs = buffer
        inputs.narrow(1, 0, 3).copy_(before)
        inputs.narrow(1, 3, window).copy_(x)
    row = inputs.stride(0)
    wide = inputs if inputs.dtype is torch.float32 else inputs.float()
    # Products first, then a sum of four: each output adds the same four numbers in the same order.
    if window == 1 and wide is not inputs:
        products = wide.mul_(weight).unsqueeze(1)
    else:
        products = wide.as_strided((batch, window, 4, channels), (wide.stride(0), channels, channels, 1)) * weight
    y = torch.nn.functional.silu(products.sum(2), inplace=True)
    windows = inputs.as_strided((window, batch, 3, channels), (channels, row, channels, 1), inputs.storage_offset() + channels)
    return y, windows
