"""Speculative rejection sampling along a chain, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract, check_probabilities
from kernels.greedy_accept.reference import candidate_count, check_window

CONTRACT = Contract(
    "chain_accept",
    p="B W V | f32",
    q="B G V | f32",
    drafts="B G | int",
    u="B G | f32",
    u_final="... | f32",
    verify_lens="B | int | optional",
)


def check_final(op: str, u_final: torch.Tensor, batch: int, window: int) -> None:
    """One last uniform a request, or one a window position."""
    if u_final.shape not in ((batch,), (batch, window)):
        raise ValueError(f"{op}: u_final has shape {list(u_final.shape)}, expected [{batch}] or [{batch}, {window}]")


def check_rule(
    contract: Contract,
    p: torch.Tensor,
    q: torch.Tensor | None,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None,
    read_lengths: bool = True,
) -> dict[str, int]:
    """Sizes B, G, W, V of a rule of rejection sampling; `read_lengths` also looks at the values of verify_lens."""
    rows = {"p": p} if q is None and "q" not in contract.arguments else {"p": p, "q": q}
    sizes = contract.check(**rows, drafts=drafts, u=u, u_final=u_final, verify_lens=verify_lens)
    check_window(contract.op, sizes["G"], sizes["W"], verify_lens if read_lengths else None)
    check_final(contract.op, u_final, sizes["B"], sizes["W"])
    return sizes


def final_uniform(u_final: torch.Tensor, request: int, accepted: int) -> torch.Tensor:
    """The uniform [] of a request's bonus: its only one, or that of the position after its accepted drafts."""
    return u_final[request] if u_final.dim() == 1 else u_final[request, accepted]


def inverse_cdf(weights: torch.Tensor, u: torch.Tensor) -> int:
    """The id v with cumsum(weights)[v - 1] <= u * sum < cumsum(weights)[v]; weights [V] >= 0, not all zero."""
    cumulative = torch.cumsum(weights, dim=0)
    beyond = cumulative > u * cumulative[-1]
    if bool(beyond.any()):
        return int(beyond.long().argmax())
    # u * sum rounded up to the sum itself: the last id that has any weight.
    return int(torch.nonzero(weights > 0)[-1])


def residual_weights(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """max(p - q, 0) with a non-finite q read as 0; if nothing is left (p = q), p itself."""
    clean = torch.where(torch.isfinite(q), q, 0.0)
    residual = torch.clamp_min(p - clean, 0.0)
    if float(residual.sum()) <= 0.0:
        return p
    return residual


def chain_accept(
    p: torch.Tensor,
    q: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Accept draft x_i iff u_i q_i(x_i) < p_i(x_i); at the first rejection sample from the positive residual.

    p [B, γ + 1, V], target rows after the anchor and after each draft; q [B, γ, V], the distributions that the drafts were
    sampled from; drafts [B, γ] int64, -1 pads a short draft; u [B, γ], u_final [B] uniforms in (0, 1), independent of each
    other and of the drafts (u_final may be [B, γ + 1], then column c serves the bonus after c drafts); verify_lens [B] in 1..γ+1: only verify_lens - 1 drafts are candidates, later rows are not read.
    A draft with q outside (0, 1] is rejected. After c accepted drafts the bonus comes from normalise(max(p_c - q_c, 0)) if
    draft c was rejected, or from p_c if no draft was left. The committed tokens are distributed as the target alone.
    Returns correct [B], bonus [B] int64. `debug` checks that every row that is read sums to one.
    ValueError on shapes, γ outside 1..15, or (debug) on rows that are no distribution.
    Source: Leviathan et al., "Fast inference from transformers via speculative decoding", 2023; Chen et al., 2023.
    """
    sizes = check_rule(CONTRACT, p, q, drafts, u, u_final, verify_lens)
    correct = torch.zeros(sizes["B"], dtype=torch.int64, device=p.device)
    bonus = torch.zeros_like(correct)
    for request in range(sizes["B"]):
        candidates = candidate_count(drafts, request, verify_lens)
        if debug:
            check_probabilities("chain_accept", "p", p[request, : candidates + 1])
            if candidates:
                check_probabilities("chain_accept", "q", q[request, :candidates])
        accepted = 0
        weights = p[request, candidates]
        while accepted < candidates:
            token = int(drafts[request, accepted])
            p_token = p[request, accepted, token]
            q_token = q[request, accepted, token]
            plausible = bool((q_token > 0) & (q_token <= 1))
            if not (plausible and bool(u[request, accepted] * q_token < p_token)):
                weights = residual_weights(p[request, accepted], q[request, accepted])
                break
            accepted += 1
        correct[request] = accepted
        bonus[request] = inverse_cdf(weights, final_uniform(u_final, request, accepted))
    return correct, bonus
