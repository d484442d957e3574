"""Row selection between two verdicts."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.accept_mixed.reference import CONTRACT
from kernels.aot import variant

BLOCK = 128


@triton.jit
def _accept_mixed(
    greedy, correct_greedy, bonus_greedy, correct_sampled, bonus_sampled, correct, bonus, B, BLOCK: tl.constexpr
):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < B
    take = tl.load(greedy + at, mask=inside, other=0) != 0
    c_greedy = tl.load(correct_greedy + at, mask=inside, other=0)
    c_sampled = tl.load(correct_sampled + at, mask=inside, other=0)
    b_greedy = tl.load(bonus_greedy + at, mask=inside, other=0)
    b_sampled = tl.load(bonus_sampled + at, mask=inside, other=0)
    tl.store(correct + at, tl.where(take, c_greedy, c_sampled), mask=inside)
    tl.store(bonus + at, tl.where(take, b_greedy, b_sampled), mask=inside)


def accept_mixed(
    greedy: torch.Tensor,
    correct_greedy: torch.Tensor,
    bonus_greedy: torch.Tensor,
    correct_sampled: torch.Tensor,
    bonus_sampled: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference."""
    batch = CONTRACT.check(
        greedy=greedy,
        correct_greedy=correct_greedy,
        bonus_greedy=bonus_greedy,
        correct_sampled=correct_sampled,
        bonus_sampled=bonus_sampled,
    )["B"]
    correct, bonus = torch.empty_like(correct_greedy), torch.empty_like(bonus_greedy)
    if batch:
        _accept_mixed[(triton.cdiv(batch, BLOCK),)](
            greedy.to(torch.int8),
            correct_greedy,
            bonus_greedy,
            correct_sampled,
            bonus_sampled,
            correct,
            bonus,
            batch,
            BLOCK=BLOCK,
            num_warps=1,
        )
    return correct, bonus


VARIANTS = [
    variant(
        _accept_mixed,
        1,
        greedy="*i8",
        correct_greedy="*i64",
        bonus_greedy="*i64",
        correct_sampled="*i64",
        bonus_sampled="*i64",
        correct="*i64",
        bonus="*i64",
        B="i32",
        BLOCK=BLOCK,
    )
]
