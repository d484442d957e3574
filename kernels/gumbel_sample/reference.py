"""Sampling by the Gumbel-max trick with counter-based noise, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract
from kernels.philox_uniform.reference import philox_uniform
from kernels.row_argmax.reference import row_argmax

CONTRACT = Contract(
    "gumbel_sample", logits="B V | float", temperature="B | f32", seeds="B | int", positions="B | int"
)

MIN_TEMPERATURE = 1e-5


def gumbel_sample(
    logits: torch.Tensor, temperature: torch.Tensor, seeds: torch.Tensor, positions: torch.Tensor, stream: int
) -> torch.Tensor:
    """argmax_v (logits_v / T - log(-log u_v)) is a draw from softmax(logits / T).

    logits [B, V]; temperature [B] float32, 0 = argmax, otherwise at least 1e-5 is used; seeds, positions [B] int64 and
    `stream` key the noise u (see `philox_uniform`), so a request's draw does not depend on its row in the batch.
    Returns ids [B] int64; ties go to the lowest id. ValueError on shapes or a negative temperature.
    Source: Gumbel 1954; Maddison et al., "A* sampling", 2014.
    """
    sizes = CONTRACT.check(logits=logits, temperature=temperature, seeds=seeds, positions=positions)
    if bool((temperature < 0).any()):
        raise ValueError(f"gumbel_sample: temperature {list(temperature.shape)} holds negative values, expected >= 0")
    u = philox_uniform(seeds, positions, stream, sizes["V"])
    noise = -torch.log(-torch.log(u))
    scaled = logits.float() / temperature.clamp_min(MIN_TEMPERATURE)[:, None]
    greedy = (temperature == 0)[:, None]
    return row_argmax(torch.where(greedy, logits.float(), scaled + noise))
