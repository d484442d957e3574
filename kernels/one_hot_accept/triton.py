"""One-hot acceptance, one program a request."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.chain_accept.triton import WARPS, commit, launch, rule_variant
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
    # There are no draft rows, and none is read: p stands in for the pointer.
    commit(p, p, 1.0, removed, removed < -1, u_final, correct, bonus, request, accepted, G, V, PER_POSITION, BLOCK)


def one_hot_accept(
    p: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; verify lengths are clamped, not refused. `debug` checks every row and waits."""
    return launch(_one_hot_accept, WARPS, CONTRACT, p, None, drafts, u, u_final, verify_lens, debug)


VARIANTS = [rule_variant(_one_hot_accept, WARPS)]
