"""SwiGLU activation, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("silu_mul", gate_up="... D | float")


def check_halves(gate_up: torch.Tensor) -> int:
    """F of gate_up [..., 2F]."""
    size = CONTRACT.check(gate_up=gate_up)["D"]
    if size % 2:
        raise ValueError(f"silu_mul: gate_up has shape {list(gate_up.shape)}, expected an even last dimension [..., 2F]")
    return size // 2


def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up, where gate is the first half of the last dimension and up the second.

    gate_up [..., 2F] float32, bfloat16 or float16; returns [..., F] in the same dtype, rounded once.
    ValueError if the last dimension is odd.
    Source: Shazeer, "GLU Variants Improve Transformer", 2020, equation 6.
    """
    check_halves(gate_up)
    gate, up = gate_up.float().chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * up).to(gate_up.dtype)
