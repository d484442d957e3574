"""Greedy acceptance over plain lists: a batch is a few hundred integers, less than one dispatch costs."""

from __future__ import annotations

import torch

from kernels.greedy_accept.reference import CONTRACT, check_all_greedy, check_window


def greedy_accept(
    drafts: torch.Tensor,
    target_ids: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference."""
    sizes = CONTRACT.check(drafts=drafts, target_ids=target_ids, verify_lens=verify_lens, temperature=temperature)
    check_window("greedy_accept", sizes["G"], sizes["W"], verify_lens)
    check_all_greedy(temperature)
    limits = [sizes["G"]] * sizes["B"] if verify_lens is None else [length - 1 for length in verify_lens.tolist()]
    correct, bonus = [], []
    for row, targets, limit in zip(drafts.tolist(), target_ids.tolist(), limits):
        accepted = 0
        # Target ids are never negative, so a padding draft of -1 ends the match.
        while accepted < limit and row[accepted] == targets[accepted]:
            accepted += 1
        correct.append(accepted)
        bonus.append(targets[accepted])
    return torch.tensor(correct, dtype=torch.int64), torch.tensor(bonus, dtype=torch.int64)
