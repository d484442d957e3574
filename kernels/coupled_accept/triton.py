"""Coupled acceptance: Gumbel picks of all window rows, then the greedy kernel."""

from __future__ import annotations

import torch

from kernels.coupled_accept.reference import CONTRACT
from kernels.greedy_accept.reference import check_window
from kernels.greedy_accept.triton import VARIANTS as GREEDY_VARIANTS
from kernels.greedy_accept.triton import greedy_accept
from kernels.gumbel_sample.triton import VARIANTS as GUMBEL_VARIANTS
from kernels.gumbel_sample.triton import gumbel_sample


def coupled_accept(
    logits: torch.Tensor,
    drafts: torch.Tensor,
    temperature: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    stream: int = 0,
    verify_lens: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; the picks are those of the Triton `gumbel_sample`, bit for bit."""
    sizes = CONTRACT.check(
        logits=logits, drafts=drafts, temperature=temperature, seeds=seeds, positions=positions, verify_lens=verify_lens
    )
    window = sizes["W"]
    check_window("coupled_accept", sizes["G"], window, None)
    where = (positions.unsqueeze(1) + torch.arange(window, device=positions.device)).flatten()
    picks = gumbel_sample(
        logits.flatten(0, 1), temperature.repeat_interleave(window), seeds.repeat_interleave(window), where, stream
    )
    return greedy_accept(drafts, picks.view(-1, window), verify_lens)


VARIANTS = GUMBEL_VARIANTS + GREEDY_VARIANTS
