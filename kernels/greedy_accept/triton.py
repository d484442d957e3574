"""Greedy acceptance, one program a request."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.greedy_accept.reference import CONTRACT, check_all_greedy, check_window

BLOCK_G = 16


@triton.jit
def candidate_limit(verify_lens, request, G, HAS_LENS: tl.constexpr):
    """Drafts inside the verify length: min(verify_len, γ + 1) - 1."""
    limit = G
    if HAS_LENS:
        limit = tl.minimum(tl.load(verify_lens + request).to(tl.int32) - 1, G)
    return limit


@triton.jit
def _greedy_accept(drafts, target_ids, verify_lens, correct, bonus, G, HAS_LENS: tl.constexpr, BLOCK_G: tl.constexpr):
    request = tl.program_id(0).to(tl.int64)
    position = tl.arange(0, BLOCK_G)
    live = position < candidate_limit(verify_lens, request, G, HAS_LENS)
    draft = tl.load(drafts + request * G + position, mask=live, other=-1)
    target = tl.load(target_ids + request * (G + 1) + position, mask=live, other=-2)
    # Padding drafts are -1 and target ids are not negative, so both end the run of matches.
    accepted = tl.sum(tl.cumprod((draft == target).to(tl.int32), axis=0), axis=0)
    tl.store(correct + request, accepted.to(tl.int64))
    tl.store(bonus + request, tl.load(target_ids + request * (G + 1) + accepted))


def greedy_accept(
    drafts: torch.Tensor,
    target_ids: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; verify lengths are clamped, not refused. `temperature`, if given, is read back."""
    sizes = CONTRACT.check(drafts=drafts, target_ids=target_ids, verify_lens=verify_lens, temperature=temperature)
    check_window("greedy_accept", sizes["G"], sizes["W"], None)
    check_all_greedy(temperature)
    correct = torch.empty(sizes["B"], dtype=torch.int64, device=drafts.device)
    bonus = torch.empty_like(correct)
    if sizes["B"]:
        _greedy_accept[(sizes["B"],)](
            drafts.contiguous(),
            target_ids.contiguous(),
            drafts if verify_lens is None else verify_lens,
            correct,
            bonus,
            sizes["G"],
            HAS_LENS=verify_lens is not None,
            BLOCK_G=BLOCK_G,
            num_warps=1,
        )
    return correct, bonus


VARIANTS = [
    variant(
        _greedy_accept,
        1,
        drafts="*i64",
        target_ids="*i64",
        verify_lens="*i64",
        correct="*i64",
        bonus="*i64",
        G="i32",
        HAS_LENS=True,
        BLOCK_G=BLOCK_G,
    )
]
