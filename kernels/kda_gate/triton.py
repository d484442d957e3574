"""Decay and write strength, one program a token and head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.kda_gate.reference import check_gate

WARPS = 1


@triton.jit
def _kda_gate(f, b, a_log, dt_bias, g, beta, H, K, decay_floor, BLOCK_K: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    key = tl.arange(0, BLOCK_K)
    inside = key < K
    channel = head * K + key
    raw = tl.load(f + row * H * K + channel, mask=inside, other=0.0).to(tl.float32)
    raw += tl.load(dt_bias + channel, mask=inside, other=0.0)
    rate = tl.exp(tl.load(a_log + head))
    tl.store(g + row * H * K + channel, decay_floor * tl.sigmoid(rate * raw), mask=inside)
    tl.store(beta + row * H + head, tl.sigmoid(tl.load(b + row * H + head).to(tl.float32)))


def kda_gate(
    f: torch.Tensor,
    b: torch.Tensor,
    a_log: torch.Tensor,
    dt_bias: torch.Tensor,
    decay_floor: float = -3.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference."""
    heads, channels = check_gate(f, b, a_log, dt_bias, decay_floor)
    keys = channels // heads
    f, b = f.contiguous(), b.contiguous()
    g = torch.empty(*f.shape[:-1], heads, keys, device=f.device)
    beta = torch.empty(b.shape, device=f.device)
    rows = f.numel() // channels
    if rows:
        _kda_gate[(rows, heads)](
            f, b, a_log, dt_bias, g, beta, heads, keys, decay_floor, BLOCK_K=triton.next_power_of_2(keys), num_warps=WARPS
        )
    return g, beta


VARIANTS = [
    variant(
        _kda_gate,
        WARPS,
        f="*bf16",
        b="*bf16",
        a_log="*fp32",
        dt_bias="*fp32",
        g="*fp32",
        beta="*fp32",
        H="i32",
        K="i32",
        decay_floor="fp32",
        BLOCK_K=128,
    )
]
