"""Chain acceptance, one program a request: a walk over γ numbers, then two passes over the deciding row."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from kernels.aot import Variant, variant
from kernels.chain_accept.reference import CONTRACT, check_rule
from kernels.contract import Contract, check_probabilities
from kernels.greedy_accept.triton import candidate_limit

WARPS = 8
BLOCK = 2048


@triton.jit
def tile_weights(p, q, ratio, removed, use_q, ids, V):
    """max(ratio p - q, 0) where a draft was rejected, p elsewhere; `removed` drops one token (-1: none)."""
    inside = ids < V
    weight = tl.load(p + ids, mask=inside, other=0.0)
    lost = tl.load(q + ids, mask=inside & use_q, other=0.0)
    finite = (lost == lost) & (tl.abs(lost) < float("inf"))  # noqa: PLR0124 (NaN differs from itself)
    left = tl.maximum(ratio * weight - tl.where(finite, lost, 0.0), 0.0)
    weight = tl.where(use_q, left, weight)
    return tl.where(inside & (ids != removed), weight, 0.0)


@triton.jit
def row_sum(p, q, ratio, removed, use_q, V, BLOCK: tl.constexpr):
    """Sum of the weights of a row, and the last id that has any."""
    total = 0.0
    last = -1
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        weight = tile_weights(p, q, ratio, removed, use_q, ids, V)
        total += tl.sum(weight, axis=0)
        last = tl.maximum(last, tl.max(tl.where(weight > 0.0, ids, -1), axis=0))
    return total, last


@triton.jit
def pick(p, q, ratio, removed, use_q, u, V, BLOCK: tl.constexpr):
    """Inverse CDF over the weights of a row; a row without weight falls back to p."""
    total, last = row_sum(p, q, ratio, removed, use_q, V, BLOCK)
    empty = total <= 0.0
    use_q = use_q & (empty == 0)
    removed = tl.where(empty, -1, removed)
    if empty:
        total, last = row_sum(p, q, ratio, removed, use_q, V, BLOCK)
    threshold = u * total
    before = 0.0
    chosen = V
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        weight = tile_weights(p, q, ratio, removed, use_q, ids, V)
        cumulative = before + tl.cumsum(weight, axis=0)
        hit = (cumulative > threshold) & (weight > 0.0)
        chosen = tl.minimum(chosen, tl.min(tl.where(hit, ids, V), axis=0))
        before += tl.sum(weight, axis=0)
    return tl.where(chosen < V, chosen, last)


@triton.jit
def final_uniform(u_final, request, accepted, G, PER_POSITION: tl.constexpr):
    """The last uniform of a request: its only one, or that of the position after its accepted drafts."""
    at = request
    if PER_POSITION:
        at = request * (G + 1) + accepted
    return tl.load(u_final + at)


@triton.jit
def commit(
    p, q, ratio, removed, use_q, u_final, correct, bonus, request, accepted, G, V, PER_POSITION: tl.constexpr, BLOCK: tl.constexpr
):
    """Write a request's verdict: how many drafts stand, and the bonus drawn from the row after them."""
    row_p = p + (request * (G + 1) + accepted) * V
    row_q = q + (request * G + tl.minimum(accepted, G - 1)) * V
    u = final_uniform(u_final, request, accepted, G, PER_POSITION)
    token = pick(row_p, row_q, ratio, removed, use_q, u, V, BLOCK)
    tl.store(correct + request, accepted.to(tl.int64))
    tl.store(bonus + request, token.to(tl.int64))


@triton.jit
def _chain_accept(
    p, q, drafts, u, u_final, verify_lens, correct, bonus, G, V, PER_POSITION: tl.constexpr, HAS_LENS: tl.constexpr, BLOCK: tl.constexpr
):
    request = tl.program_id(0).to(tl.int64)
    limit = candidate_limit(verify_lens, request, G, HAS_LENS)
    accepted = 0
    alive = 1
    rejected = 0
    for i in range(limit):
        token = tl.load(drafts + request * G + i)
        offered = (alive == 1) & (token >= 0)
        p_token = tl.load(p + (request * (G + 1) + i) * V + token, mask=offered, other=0.0)
        q_token = tl.load(q + (request * G + i) * V + token, mask=offered, other=0.0)
        passed = (q_token > 0.0) & (q_token <= 1.0) & (tl.load(u + request * G + i) * q_token < p_token)
        accepted += (offered & passed).to(tl.int32)
        rejected += (offered & (passed == 0)).to(tl.int32)
        alive = (offered & passed).to(tl.int32)
    commit(p, q, 1.0, -1, rejected > 0, u_final, correct, bonus, request, accepted, G, V, PER_POSITION, BLOCK)


def launch(
    kernel: Any,
    warps: int,
    contract: Contract,
    p: torch.Tensor,
    q: torch.Tensor | None,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None,
    debug: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Check and run one rule of rejection sampling, one program a request; q None for rules without draft rows.

    Verify lengths are clamped in the kernel, not refused: looking at them would wait for the device.
    """
    sizes = check_rule(contract, p, q, drafts, u, u_final, verify_lens, read_lengths=False)
    if debug:
        check_probabilities(contract.op, "p", p)
        if q is not None:
            check_probabilities(contract.op, "q", q)
    correct = torch.empty(sizes["B"], dtype=torch.int64, device=p.device)
    bonus = torch.empty_like(correct)
    if sizes["B"]:
        rows = (p,) if q is None else (p, q)
        kernel[(sizes["B"],)](
            *(tensor.contiguous() for tensor in (*rows, drafts, u, u_final)),
            drafts if verify_lens is None else verify_lens,
            correct,
            bonus,
            sizes["G"],
            sizes["V"],
            PER_POSITION=u_final.dim() == 2,
            HAS_LENS=verify_lens is not None,
            BLOCK=min(BLOCK, triton.next_power_of_2(sizes["V"])),
            num_warps=warps,
        )
    return correct, bonus


def rule_variant(kernel: Any, warps: int) -> Variant:
    """The compilation of one rule, with or without draft rows."""
    floats = {name: "*fp32" for name in ("p", "q", "u", "u_final")}
    ids = {name: "*i64" for name in ("drafts", "verify_lens", "correct", "bonus")}
    sizes = {"G": "i32", "V": "i32", "PER_POSITION": True, "HAS_LENS": True, "BLOCK": BLOCK}
    arguments = floats | ids | sizes
    return variant(kernel, warps, **{name: arguments[name] for name in kernel.arg_names})


def chain_accept(
    p: torch.Tensor,
    q: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; verify lengths are clamped, not refused. `debug` checks every row and waits."""
    return launch(_chain_accept, WARPS, CONTRACT, p, q, drafts, u, u_final, verify_lens, debug)


VARIANTS = [rule_variant(_chain_accept, WARPS)]
