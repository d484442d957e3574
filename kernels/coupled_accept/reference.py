"""Acceptance by a shared source of randomness, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract
from kernels.greedy_accept.reference import check_window, greedy_accept
from kernels.gumbel_sample.reference import gumbel_sample

CONTRACT = Contract(
    "coupled_accept",
    logits="B W V | float",
    drafts="B G | int",
    temperature="B | f32",
    seeds="B | int",
    positions="B | int",
    verify_lens="B | int | optional",
)


def coupled_accept(
    logits: torch.Tensor,
    drafts: torch.Tensor,
    temperature: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    stream: int = 0,
    verify_lens: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The target samples every window position with the noise the drafter used there; drafts equal to its picks stay.

    The committed tokens are the target's own Gumbel-max samples, hence exactly what sampling without drafts gives with
    the same noise; the rule accepts less often than rejection sampling, but the text does not depend on the drafter.
    logits [B, γ + 1, V] of the target (after truncation pass log p and temperature 1); drafts [B, γ] int64, -1 pads;
    temperature, seeds [B]; positions [B] int64 of the first draft token; stream as given to `markov_sample`.
    Returns correct [B], bonus [B] int64. ValueError on shapes or γ outside 1..15.
    Source: Gumbel coupling of proposal and target, Daliri et al., "Coupling without communication", 2024.
    """
    sizes = CONTRACT.check(
        logits=logits, drafts=drafts, temperature=temperature, seeds=seeds, positions=positions, verify_lens=verify_lens
    )
    check_window("coupled_accept", sizes["G"], sizes["W"], verify_lens)
    picks = []
    for t in range(sizes["W"]):
        picks.append(gumbel_sample(logits[:, t], temperature, seeds, positions + t, stream))
    # After the noise is in, the picks are deterministic and the rule is the greedy one.
    return greedy_accept(drafts, torch.stack(picks, dim=1), verify_lens)
