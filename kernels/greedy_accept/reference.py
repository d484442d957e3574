"""Greedy acceptance: the longest prefix of drafts that the target would have picked itself."""

from __future__ import annotations

import torch

from kernels.contract import Contract, check_block_size

CONTRACT = Contract(
    "greedy_accept", drafts="B G | int", target_ids="B W | int", verify_lens="B | int | optional", temperature="B | f32 | optional"
)


def check_window(op: str, block: int, window: int, verify_lens: torch.Tensor | None) -> None:
    """γ in 1..15, W = γ + 1, and verify lengths in 1..W."""
    check_block_size(op, block)
    if window != block + 1:
        raise ValueError(f"{op}: {window} target rows for drafts [B, {block}], expected [B, {block + 1}]")
    if verify_lens is not None and bool(((verify_lens < 1) | (verify_lens > window)).any()):
        raise ValueError(f"{op}: verify_lens {list(verify_lens.shape)} holds lengths outside 1..{window}")


def candidate_count(drafts: torch.Tensor, request: int, verify_lens: torch.Tensor | None) -> int:
    """Drafts of one request that may be accepted: before the first -1, and inside its verify length."""
    limit = drafts.shape[1] if verify_lens is None else int(verify_lens[request]) - 1
    count = 0
    while count < limit and int(drafts[request, count]) >= 0:
        count += 1
    return count


def greedy_accept(
    drafts: torch.Tensor,
    target_ids: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """c = number of leading drafts equal to the target's argmax; bonus = the target's argmax after them.

    drafts [B, γ] int64, -1 pads a short draft; target_ids [B, γ + 1] int64, argmax after the anchor and after each draft;
    verify_lens [B] in 1..γ+1: rows from there on are not read. Returns correct [B] and bonus [B], int64; c + 1 tokens
    are committed. `temperature` [B], if given, must be all 0: verifying a sampled request greedily changes its
    distribution (ValueError). ValueError on shapes or γ outside 1..15.
    Source: Stern et al., "Blockwise parallel decoding", 2018; Leviathan et al., 2023 at temperature 0.
    """
    sizes = CONTRACT.check(drafts=drafts, target_ids=target_ids, verify_lens=verify_lens, temperature=temperature)
    check_window("greedy_accept", sizes["G"], sizes["W"], verify_lens)
    check_all_greedy(temperature)
    correct = torch.zeros(sizes["B"], dtype=torch.int64, device=drafts.device)
    bonus = torch.zeros_like(correct)
    for request in range(sizes["B"]):
        candidates = candidate_count(drafts, request, verify_lens)
        match = drafts[request, :candidates] == target_ids[request, :candidates]
        accepted = int(torch.cumprod(match.long(), dim=0).sum())
        correct[request] = accepted
        bonus[request] = target_ids[request, accepted]
    return correct, bonus


def check_all_greedy(temperature: torch.Tensor | None) -> None:
    """A sampled request must never be verified by argmax."""
    if temperature is not None and bool((temperature != 0).any()):
        row = int((temperature != 0).nonzero()[0])
        raise ValueError(
            f"greedy_accept: temperature[{row}] = {float(temperature[row]):g}; a sampled request needs chain_accept, "
            "one_hot_accept, coupled_accept or block_accept, expected 0 in every row"
        )
