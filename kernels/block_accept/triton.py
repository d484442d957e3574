"""Blockwise acceptance, one program a request: one pass over the vocabulary for every prefix, two for the pick."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.block_accept.reference import CONTRACT
from kernels.chain_accept.triton import commit, launch, row_sum, rule_variant
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
    commit(p, q, kept_ratio, -1, accepted < count, u_final, correct, bonus, request, accepted, G, V, PER_POSITION, BLOCK)


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
    return launch(_block_accept, WARPS, CONTRACT, p, q, drafts, u, u_final, verify_lens, debug)


VARIANTS = [rule_variant(_block_accept, WARPS)]
