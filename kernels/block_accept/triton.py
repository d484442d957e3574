"""Blockwise acceptance, one program a request: one pass over the vocabulary for every prefix, two for the pick."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.block_accept.reference import CONTRACT
from kernels.chain_accept.reference import check_final
from kernels.chain_accept.triton import BLOCK, final_uniform, pick, row_sum
from kernels.contract import check_probabilities
from kernels.greedy_accept.reference import check_window
from kernels.greedy_accept.triton import candidate_limit

WARPS = 4
"""Half of the chain rule's: with eight, one register of the prefix loop spilled on sm_90 and sm_100."""


@triton.jit
def _block_accept(
    p, q, drafts, u, u_final, verify_lens, correct, bonus, G, V, PER_POSITION: tl.constexpr, HAS_LENS: tl.constexpr, BLOCK: tl.constexpr
):
    request = tl.program_id(0).to(tl.int64)
    limit = candidate_limit(verify_lens, request, G, HAS_LENS)
    count = 0
    alive = 1
    for i in range(limit):
        alive = alive * (tl.load(drafts + request * G + i) >= 0).to(tl.int32)
        count += alive
    ratio = 1.0
    kept_ratio = 1.0
    accepted = 0
    for length in range(1, count + 1):
        token = tl.load(drafts + request * G + length - 1)
        p_token = tl.load(p + (request * (G + 1) + length - 1) * V + token)
        q_token = tl.load(q + (request * G + length - 1) * V + token)
        plausible = (q_token > 0.0) & (q_token <= 1.0)
        ratio = tl.where(plausible, tl.minimum(ratio * p_token / tl.where(plausible, q_token, 1.0), 1.0), 0.0)
        probability = ratio
        if length < count:
            row_p = p + (request * (G + 1) + length) * V
            row_q = q + (request * G + length) * V
            mass, _ = row_sum(row_p, row_q, ratio, -1, length < count, V, BLOCK)
            probability = tl.where(mass > 0.0, mass / tl.maximum(mass + 1.0 - ratio, 1e-30), 0.0)
        keep = tl.load(u + request * G + length - 1) < probability
        accepted = tl.where(keep, length, accepted)
        kept_ratio = tl.where(keep, ratio, kept_ratio)
    row_p = p + (request * (G + 1) + accepted) * V
    row_q = q + (request * G + tl.minimum(accepted, G - 1)) * V
    token = pick(row_p, row_q, kept_ratio, -1, accepted < count, final_uniform(u_final, request, accepted, G, PER_POSITION), V, BLOCK)
    tl.store(correct + request, accepted.to(tl.int64))
    tl.store(bonus + request, token.to(tl.int64))


def block_accept(
    p: torch.Tensor,
    q: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; verify lengths are clamped, not refused. `debug` checks every row and waits."""
    sizes = CONTRACT.check(p=p, q=q, drafts=drafts, u=u, u_final=u_final, verify_lens=verify_lens)
    check_window("block_accept", sizes["G"], sizes["W"], None)
    check_final("block_accept", u_final, sizes["B"], sizes["W"])
    if debug:
        check_probabilities("block_accept", "p", p)
        check_probabilities("block_accept", "q", q)
    correct = torch.empty(sizes["B"], dtype=torch.int64, device=p.device)
    bonus = torch.empty_like(correct)
    if sizes["B"]:
        _block_accept[(sizes["B"],)](
            p.contiguous(),
            q.contiguous(),
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
        _block_accept,
        WARPS,
        p="*fp32",
        q="*fp32",
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
