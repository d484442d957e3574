"""Sampling Markov step in few dispatches."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernels.gumbel_sample.cpu import gumbel_sample
from kernels.markov_greedy.cpu import markov_logits
from kernels.markov_greedy.reference import check_step
from kernels.markov_sample.reference import CONTRACT


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
    """Same semantics as the reference."""
    check_step(CONTRACT, w2, base=base, prev=prev, w1=w1, temperature=temperature, seeds=seeds, positions=positions)
    logits = markov_logits("markov_sample", base, prev, w1, w2)
    return gumbel_sample(logits, temperature, seeds, positions, stream), logits
