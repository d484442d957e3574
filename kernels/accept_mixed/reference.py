"""Select the verdict of the rule that belongs to each request."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract(
    "accept_mixed",
    greedy="B | bool",
    correct_greedy="B | int",
    bonus_greedy="B | int",
    correct_sampled="B | int",
    bonus_sampled="B | int",
)


def accept_mixed(
    greedy: torch.Tensor,
    correct_greedy: torch.Tensor,
    bonus_greedy: torch.Tensor,
    correct_sampled: torch.Tensor,
    bonus_sampled: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Row b takes the greedy pair where greedy[b], else the sampled pair; a batch may hold both kinds.

    All [B]; greedy bool, the others int64. Returns correct [B], bonus [B]. ValueError on shapes that do not fit.
    Source: of the two verdicts `greedy_accept` and `chain_accept`; the choice is ours.
    """
    CONTRACT.check(
        greedy=greedy,
        correct_greedy=correct_greedy,
        bonus_greedy=bonus_greedy,
        correct_sampled=correct_sampled,
        bonus_sampled=bonus_sampled,
    )
    return torch.where(greedy, correct_greedy, correct_sampled), torch.where(greedy, bonus_greedy, bonus_sampled)
