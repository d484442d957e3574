"""Causal convolution over a prompt, one program a token and tile of channels."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.short_conv_prefill.reference import CONTRACT

WARPS = 4
BLOCK_D = 256


@triton.jit
def _short_conv_prefill(x, weight, state, y, D, BLOCK_D: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    inside = channel < D
    total = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for tap in tl.static_range(4):
        source = token - 3 + tap
        before = tl.load(state + (source + 3) * D + channel, mask=inside & (source < 0), other=0.0).to(tl.float32)
        inputs = tl.load(x + source * D + channel, mask=inside & (source >= 0), other=0.0).to(tl.float32)
        total += tl.load(weight + tap * D + channel, mask=inside, other=0.0) * (before + inputs)
    tl.store(y + token * D + channel, total * tl.sigmoid(total), mask=inside)


def short_conv_prefill(
    x: torch.Tensor, weight: torch.Tensor, state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference."""
    CONTRACT.check(x=x, weight=weight, state=state)
    tokens, channels = x.shape
    if tokens < 1:
        raise ValueError(f"short_conv_prefill: x has shape {list(x.shape)}, expected [T, D] with T >= 1")
    x, weight, state = x.contiguous(), weight.contiguous(), state.to(x.dtype).contiguous()
    y = torch.empty(tokens, channels, device=x.device)
    _short_conv_prefill[(tokens, triton.cdiv(channels, BLOCK_D))](x, weight, state, y, channels, BLOCK_D=BLOCK_D, num_warps=WARPS)
    return y, torch.cat([state, x[-3:]])[-3:]


VARIANTS = [
    variant(_short_conv_prefill, WARPS, x="*bf16", weight="*fp32", state="*bf16", y="*fp32", D="i32", BLOCK_D=BLOCK_D)
]
