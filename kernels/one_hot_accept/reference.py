"""Rejection sampling for drafts without a distribution, in float32."""

from __future__ import annotations

import torch

from kernels.chain_accept.reference import check_rule, final_uniform, inverse_cdf
from kernels.contract import Contract, check_probabilities
from kernels.greedy_accept.reference import candidate_count

CONTRACT = Contract(
    "one_hot_accept", p="B W V | f32", drafts="B G | int", u="B G | f32", u_final="... | f32", verify_lens="B | int | optional"
)


def one_hot_accept(
    p: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`chain_accept` with q one-hot at the draft: accept x_i with probability p_i(x_i), else sample p_i without x_i.

    For drafters that propose tokens deterministically (lookup, greedy drafts). p [B, γ + 1, V]; drafts [B, γ] int64;
    u [B, γ] in (0, 1); u_final, verify_lens and debug as `chain_accept`. Returns correct [B], bonus [B] int64.
    ValueError on shapes that do not fit, γ outside 1..15, lengths outside the window; with debug on rows that do not sum to one.
    Source: Leviathan et al., 2023, with a degenerate proposal.
    """
    sizes = check_rule(CONTRACT, p, None, drafts, u, u_final, verify_lens)
    correct = torch.zeros(sizes["B"], dtype=torch.int64, device=p.device)
    bonus = torch.zeros_like(correct)
    for request in range(sizes["B"]):
        candidates = candidate_count(drafts, request, verify_lens)
        if debug:
            check_probabilities("one_hot_accept", "p", p[request, : candidates + 1])
        accepted = 0
        weights = p[request, candidates]
        while accepted < candidates:
            token = int(drafts[request, accepted])
            if not bool(u[request, accepted] < p[request, accepted, token]):
                weights = p[request, accepted].clone()
                weights[token] = 0.0
                if float(weights.sum()) <= 0.0:
                    weights = p[request, accepted]
                break
            accepted += 1
        correct[request] = accepted
        bonus[request] = inverse_cdf(weights, final_uniform(u_final, request, accepted))
    return correct, bonus
