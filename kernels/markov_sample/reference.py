"""One sampling step of the Markov head, in float32."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernels.contract import Contract
from kernels.gumbel_sample.reference import gumbel_sample
from kernels.markov_greedy.reference import STEP, check_step, markov_logits

CONTRACT = Contract("markov_sample", **STEP, temperature="B | f32", seeds="B | int", positions="B | int")


def markov_sample(
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
    temperature: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    stream: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """x_k ~ softmax((U_k + W2 W1[x_{k-1}]) / T) by Gumbel-max; rows of temperature 0 take the argmax.

    Arguments as `markov_greedy` and `gumbel_sample`; positions [B] int64 is the position of the token being drafted.
    Returns ids [B] int64 and the logits U + B [B, V] float32 that acceptance needs as q (before the temperature).
    ValueError on shapes that do not fit or a negative temperature.
    Top-k and top-p do not apply to drafts: q must be what was sampled from. Source: DSpark paper; SGLang 0.5.23.
    """
    check_step(CONTRACT, w2, base=base, prev=prev, w1=w1, temperature=temperature, seeds=seeds, positions=positions)
    logits = markov_logits("markov_sample", base, prev, w1, w2)
    return gumbel_sample(logits, temperature, seeds, positions, stream), logits
