"""Gumbel-max sampling with the fast Philox; noise is made for sampled rows only."""

from __future__ import annotations

import torch

from kernels.gumbel_sample.reference import CONTRACT, MIN_TEMPERATURE
from kernels.philox_uniform.cpu import philox_uniform
from kernels.row_argmax.cpu import row_argmax
from kernels.vector_loop import VECTOR


def gumbel_sample(
    logits: torch.Tensor, temperature: torch.Tensor, seeds: torch.Tensor, positions: torch.Tensor, stream: int
) -> torch.Tensor:
    """Same semantics as the reference."""
    vocabulary = CONTRACT.check(logits=logits, temperature=temperature, seeds=seeds, positions=positions)["V"]
    heats = temperature.tolist()
    sampled = [row for row, heat in enumerate(heats) if heat > 0]
    if heats and min(heats) < 0:
        raise ValueError(f"gumbel_sample: temperature {list(temperature.shape)} holds negative values, expected >= 0")
    if not sampled:
        return row_argmax(logits)
    if len(sampled) == len(heats):
        # Whole vectors a row: the scalar rest of torch's loop rounds log differently, and which ids fall into it
        # would depend on the batch.
        u = philox_uniform(seeds, positions, stream, vocabulary)
        if vocabulary % VECTOR:
            u = torch.constant_pad_nd(u, (0, -vocabulary % VECTOR), 0.5)
        noise = u.log_().neg_().log_()[:, :vocabulary]
        return row_argmax((logits.float() / temperature.clamp_min(MIN_TEMPERATURE).unsqueeze(1)).sub_(noise))
    ids = row_argmax(logits)
    rows = torch.tensor(sampled)
    ids[rows] = gumbel_sample(logits[rows], temperature[rows], seeds[rows], positions[rows], stream)
    return ids
