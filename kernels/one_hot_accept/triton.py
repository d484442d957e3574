"""One-hot acceptance, one program a request."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.chain_accept.reference import check_final
from kernels.chain_accept.triton import BLOCK, WARPS, final_uniform, pick
from kernels.contract import check_probabilities
from kernels.greedy_accept.reference import check_window
from kernels.greedy_accept.triton import candidate_limit
from kernels.one_hot_accept.reference import CONTRACT


@triton.jit
def _one_hot_accept(
    p, drafts, u, u_final, verify_lens, correct, bonus, G, V, PER_POSITION: tl.constexpr, HAS_LENS: tl.constexpr, BLOCK: tl.constexpr
):
    request = tl.program_id(0).to(tl.int64)
    limit = candidate_limit(verify_lens, request, G, HAS_LENS)
    accepted = 0
    alive = 1
    removed = tl.full((), -1, dtype=tl.int64)
    for i in range(limit):
        token = tl.load(drafts + request * G + i)
        offered = (alive == 1) & (token >= 0)
        p_token = tl.load(p + (request * (G + 1) + i) * V + token, mask=offered, other=0.0)
        passed = tl.load(u + request * G + i) < p_token
        accepted += (offered & passed).to(tl.int32)
        removed = tl.where(offered & (passed == 0), token, removed)
        alive = (offered & passed).to(tl.int32)
    row = p + (request * (G + 1) + accepted) * V
    token = pick(row, row, 1.0, removed, removed < -1, final_uniform(u_final, request, accepted, G, PER_POSITION), V, BLOCK)
    tl.store(correct + request, accepted.to(tl.int64))
    tl.store(bonus + request, token.to(tl.int64))


def one_hot_accept(
    p: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; verify lengths are clamped, not refused. `debug` checks every row and waits."""
    sizes = CONTRACT.check(p=p, drafts=drafts, u=u, u_final=u_final, verify_lens=verify_lens)
    check_window("one_hot_accept", sizes["G"], sizes["W"], None)
    check_final("one_hot_accept", u_final, sizes["B"], sizes["W"])
    if debug:
        check_probabilities("one_hot_accept", "p", p)
    correct = torch.empty(sizes["B"], dtype=torch.int64, device=p.device)
    bonus = torch.empty_like(correct)
    if sizes["B"]:
        _one_hot_accept[(sizes["B"],)](
            p.contiguous(),
            drafts.contiguous(),
            u.contiguous(),
            u_final.contiguous(),
            drafts if verify_lens is None else verify_lens,
            correct,
            bonus,
            sizes["G"],
            sizes["V"],
            PER_POSITION=u_final.dim() == 2,
            HAS_LENS=verify_lens is not None,
            BLOCK=min(BLOCK, triton.next_power_of_2(sizes["V"])),
            num_warps=WARPS,
        )
    return correct, bonus


VARIANTS = [
    variant(
        _one_hot_accept,
        WARPS,
        p="*fp32",
        drafts="*i64",
        u="*fp32",
        u_final="*fp32",
        verify_lens="*i64",
        correct="*i64",
        bonus="*i64",
        G="i32",
        V="i32",
        PER_POSITION=True,
        HAS_LENS=True,
        BLOCK=BLOCK,
    )
]
