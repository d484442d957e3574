"""Blockwise rejection sampling, in float32: judge prefixes instead of single drafts."""

from __future__ import annotations

import torch

from kernels.chain_accept.reference import check_rule, final_uniform, inverse_cdf
from kernels.contract import Contract, check_probabilities
from kernels.greedy_accept.reference import candidate_count

CONTRACT = Contract(
    "block_accept",
    p="B W V | f32",
    q="B G V | f32",
    drafts="B G | int",
    u="B G | f32",
    u_final="... | f32",
    verify_lens="B | int | optional",
)


def block_accept(
    p: torch.Tensor,
    q: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Keep the longest prefix i with u_i < h_i, lossless and never shorter on average than `chain_accept`.

    With r_0 = 1 and r_i = min(r_{i-1} p_i(x_i) / q_i(x_i), 1), the ratio of the prefix of i drafts, and
    m_i = sum_v max(r_i p_{i+1}(v) - q_{i+1}(v), 0), the mass still missing behind it:
    h_i = m_i / (m_i + 1 - r_i) for i < n, h_n = r_n, n the number of drafts. After c = n accepted drafts the bonus
    comes from p_{n+1}, otherwise from normalise(max(r_c p_{c+1} - q_{c+1}, 0)).
    Arguments, returns and errors as `chain_accept`: p [B, γ + 1, V], q [B, γ, V] float32; u[b, i - 1] decides the prefix of i drafts.
    Source: Sun et al., "Block verification accelerates speculative decoding", 2024 (arXiv 2403.10444), algorithm 2.
    """
    sizes = check_rule(CONTRACT, p, q, drafts, u, u_final, verify_lens)
    correct = torch.zeros(sizes["B"], dtype=torch.int64, device=p.device)
    bonus = torch.zeros_like(correct)
    for request in range(sizes["B"]):
        count = candidate_count(drafts, request, verify_lens)
        if debug:
            check_probabilities("block_accept", "p", p[request, : count + 1])
            if count:
                check_probabilities("block_accept", "q", q[request, :count])
        ratio = torch.ones((), device=p.device)
        accepted = 0
        # Nothing is missing behind the empty prefix if p = q: then some longer prefix is always accepted.
        weights = p[request, count] if count == 0 else missing_mass(ratio, p[request, 0], q[request, 0])
        for length in range(1, count + 1):
            token = int(drafts[request, length - 1])
            p_token = p[request, length - 1, token]
            q_token = q[request, length - 1, token]
            plausible = bool((q_token > 0) & (q_token <= 1))
            ratio = torch.clamp_max(ratio * p_token / q_token, 1.0) if plausible else torch.zeros_like(ratio)
            if length == count:
                behind = p[request, count]
                probability = ratio
            else:
                behind = missing_mass(ratio, p[request, length], q[request, length])
                mass = behind.sum()
                probability = mass / (mass + 1.0 - ratio) if float(mass) > 0.0 else torch.zeros_like(mass)
            if bool(u[request, length - 1] < probability):
                accepted = length
                weights = behind
        if float(weights.sum()) <= 0.0:
            weights = p[request, accepted]
        correct[request] = accepted
        bonus[request] = inverse_cdf(weights, final_uniform(u_final, request, accepted))
    return correct, bonus


def missing_mass(ratio: torch.Tensor, p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """max(ratio p - q, 0) per token, [V], a non-finite q read as 0."""
    return torch.clamp_min(ratio * p - torch.where(torch.isfinite(q), q, 0.0), 0.0)
