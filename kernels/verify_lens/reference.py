"""Length scheduler: spend a budget of verified positions on the drafts most likely to survive."""

from __future__ import annotations

import torch

from kernels.contract import Contract, check_block_size

CONTRACT = Contract("verify_lens", confidence="B G | f32")


def verify_lens(confidence: torch.Tensor, budget: int, min_len: int = 1, eps: float = 1e-6) -> torch.Tensor:
    """Verify length of each request, anchor included, by top-k of survival under a budget of positions.

    Survival of draft j is the product of the confidences of drafts 0..j. Every request gets its anchor; the remaining
    budget - B positions go to the drafts of highest survival (ties: lower position, then lower request). As survival
    never rises along a request, the admitted drafts of a request are a prefix. Drafts of survival below `eps` are
    never admitted. confidence [B, γ] float32 in [0, 1]; budget >= 0 positions in all (below B: anchors alone);
    min_len in 1..γ+1. Returns [B] int64 in min_len .. γ+1. ValueError on shapes, γ, min_len, or a negative budget.
    Source: DSpark paper, algorithm 1, in the form with a given budget.
    """
    sizes = CONTRACT.check(confidence=confidence)
    batch, block = sizes["B"], sizes["G"]
    check_block_size("verify_lens", block)
    if not 1 <= min_len <= block + 1:
        raise ValueError(f"verify_lens: min_len = {min_len}, expected 1..{block + 1} for confidence {list(confidence.shape)}")
    if budget < 0:
        raise ValueError(f"verify_lens: budget = {budget} positions, expected >= 0 for confidence {list(confidence.shape)}")
    survival = torch.cumprod(confidence, dim=1)
    ranked = []
    for request in range(batch):
        for position in range(block):
            value = float(survival[request, position])
            if value >= eps:
                ranked.append((-value, position, request))
    ranked.sort()
    lengths = torch.ones(batch, dtype=torch.int64, device=confidence.device)
    for _, _, request in ranked[: max(budget - batch, 0)]:
        lengths[request] += 1
    return lengths.clamp(min_len, block + 1)
