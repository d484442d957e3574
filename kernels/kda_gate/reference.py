"""Gates of Kimi Delta Attention, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("kda_gate", f="... C | float", b="... H | float", a_log="H | f32", dt_bias="C | f32")


def check_gate(f: torch.Tensor, b: torch.Tensor, a_log: torch.Tensor, dt_bias: torch.Tensor, decay_floor: float) -> tuple[int, int]:
    """Heads H and channels C of a call whose shapes fit, C a multiple of H; the floor is negative."""
    sizes = CONTRACT.check(f=f, b=b, a_log=a_log, dt_bias=dt_bias)
    heads, channels = sizes["H"], sizes["C"]
    if channels % heads:
        raise ValueError(f"kda_gate: f has shape {list(f.shape)}, expected its last size to be a multiple of the {heads} heads of a_log")
    if decay_floor >= 0:
        raise ValueError(f"kda_gate: decay_floor = {decay_floor}, expected a negative number")
    return heads, channels


def kda_gate(
    f: torch.Tensor,
    b: torch.Tensor,
    a_log: torch.Tensor,
    dt_bias: torch.Tensor,
    decay_floor: float = -3.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """g = decay_floor * sigmoid(exp(a_log_h) * (f + dt_bias)), beta = sigmoid(b).

    f [..., C] with C = H * K, the low-rank gate projection, head-major; b [..., H]; a_log [H] and dt_bias [C] float32.
    Returns g [..., H, K] float32, the log of the decay of each key channel, in (decay_floor, 0), and
    beta [..., H] float32, the write strength, in (0, 1). ValueError if C is no multiple of H or decay_floor >= 0.
    Source: Kimi K3 technical report, bounded ("safe") gate; Kimi Linear (2025) for beta.
    """
    heads, _ = check_gate(f, b, a_log, dt_bias, decay_floor)
    rate = torch.exp(a_log)[:, None]
    raw = (f.float() + dt_bias).unflatten(-1, (heads, -1))
    g = decay_floor * torch.sigmoid(rate * raw)
    beta = torch.sigmoid(b.float())
    return g, beta
