"""Softmax with temperature in two dispatches."""

from __future__ import annotations

import torch

from kernels.softmax_temperature.reference import CONTRACT, MIN_TEMPERATURE


def softmax_temperature(logits: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference; rows are independent of each other to the bit."""
    CONTRACT.check(logits=logits, temperature=temperature)
    return torch.softmax(logits.float() / temperature.clamp_min(MIN_TEMPERATURE).unsqueeze(-1), dim=-1)
