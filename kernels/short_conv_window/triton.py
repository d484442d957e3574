"""Verify-window convolution, one program a request and tile of channels, walking the window."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.kda_decode.reference import check_state_rows
from kernels.short_conv_window.reference import CONTRACT, check_buffer

WARPS = 4
BLOCK_D = 256


@triton.jit
def _short_conv_window(x, weight, state, slots, y, windows, B, W, D, HAS_SLOTS: tl.constexpr, BLOCK_D: tl.constexpr):
    request = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = channel < D
    slot = request
    if HAS_SLOTS:
        slot = tl.load(slots + request)
    w0 = tl.load(weight + channel, mask=inside, other=0.0)
    w1 = tl.load(weight + D + channel, mask=inside, other=0.0)
    w2 = tl.load(weight + 2 * D + channel, mask=inside, other=0.0)
    w3 = tl.load(weight + 3 * D + channel, mask=inside, other=0.0)
    a = tl.load(state + slot * 3 * D + channel, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(state + slot * 3 * D + D + channel, mask=inside, other=0.0).to(tl.float32)
    c = tl.load(state + slot * 3 * D + 2 * D + channel, mask=inside, other=0.0).to(tl.float32)
    for t in range(W):
        new = tl.load(x + (request * W + t) * D + channel, mask=inside, other=0.0).to(tl.float32)
        total = a * w0 + b * w1 + c * w2 + new * w3
        tl.store(y + (request * W + t) * D + channel, total * tl.sigmoid(total), mask=inside)
        # Inputs in half precision come back unchanged: widening and rounding again is exact.
        after = windows + (t * B + request) * 3 * D + channel
        tl.store(after, b.to(windows.dtype.element_ty), mask=inside)
        tl.store(after + D, c.to(windows.dtype.element_ty), mask=inside)
        tl.store(after + 2 * D, new.to(windows.dtype.element_ty), mask=inside)
        a = b
        b = c
        c = new


def short_conv_window(
    x: torch.Tensor,
    weight: torch.Tensor,
    state: torch.Tensor,
    slots: torch.Tensor | None = None,
    buffer: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; with `buffer`, `windows` is a view of it as on the CPU."""
    CONTRACT.check(x=x, weight=weight, state=state, slots=slots)
    check_buffer(x, buffer)
    batch, window, channels = x.shape
    check_state_rows("short_conv_window", state, batch, slots)
    x, weight, state = x.contiguous(), weight.contiguous(), state.to(x.dtype).contiguous()
    y = torch.empty(batch, window, channels, device=x.device)
    if buffer is not None:
        buffer[:, :3] = state if slots is None else state[slots]
        buffer[:, 3:] = x
    windows = torch.empty(window, batch, 3, channels, dtype=x.dtype, device=x.device)
    _short_conv_window[(batch, triton.cdiv(channels, BLOCK_D))](
        x,
        weight,
        state,
        x if slots is None else slots,
        y,
        windows,
        batch,
        window,
        channels,
        HAS_SLOTS=slots is not None,
        BLOCK_D=BLOCK_D,
        num_warps=WARPS,
    )
    if buffer is not None:
        windows = buffer.unfold(1, 3, 1)[:, 1:].permute(1, 0, 3, 2)
    return y, windows


VARIANTS = [
    variant(
        _short_conv_window,
        WARPS,
        x="*bf16",
        weight="*fp32",
        state="*bf16",
        slots="*i64",
        y="*fp32",
        windows="*bf16",
        B="i32",
        W="i32",
        D="i32",
        HAS_SLOTS=True,
        BLOCK_D=BLOCK_D,
    )
]
