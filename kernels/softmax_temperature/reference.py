"""Softmax with temperature, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("softmax_temperature", logits="... V | float", temperature="... | f32")

MIN_TEMPERATURE = 1e-5


def softmax_temperature(logits: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """probs = softmax(logits / max(T, 1e-5)) along the last dimension.

    logits [..., V]; temperature [...] float32. Returns [..., V] float32. ValueError on shapes that do not fit.
    A temperature of 0 gives (nearly) one-hot rows; greedy requests should not come here, they have no q. Source: the definition; the floor of T as SGLang 0.5.23 has it.
    """
    CONTRACT.check(logits=logits, temperature=temperature)
    scaled = logits.float() / temperature.clamp_min(MIN_TEMPERATURE)[..., None]
    shifted = scaled - scaled.amax(dim=-1, keepdim=True)
    weights = torch.exp(shifted)
    return weights / weights.sum(dim=-1, keepdim=True)
