"""Chain acceptance on CPU, all requests in one set of dispatches; only the deciding row touches the vocabulary."""

from __future__ import annotations

import torch

from kernels.chain_accept.reference import CONTRACT, check_rule
from kernels.contract import check_probabilities


def candidates(drafts: torch.Tensor, verify_lens: torch.Tensor | None) -> torch.Tensor:
    """Mask [B, γ] of the drafts that may be accepted: before the first -1 and inside the verify length."""
    mask = (drafts >= 0).long().cumprod(1).bool()
    if verify_lens is None:
        return mask
    return mask & (torch.arange(drafts.shape[1]) < (verify_lens - 1).unsqueeze(1))


def pick(weights: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Rowwise inverse CDF: weights [B, V], u [B] -> ids [B], as `inverse_cdf` of the reference."""
    cumulative = weights.cumsum(1)
    threshold = u.unsqueeze(1) * cumulative[:, -1:]
    ids = torch.searchsorted(cumulative, threshold, right=True).squeeze(1)
    vocabulary = weights.shape[1]
    if int(ids.max()) < vocabulary:
        return ids
    ranks = torch.arange(vocabulary)
    last = torch.where(weights > 0, ranks, -1).amax(1)
    return torch.minimum(ids, last)


def deciding_rows(p: torch.Tensor, correct: torch.Tensor) -> torch.Tensor:
    """p[b, correct[b]] for every request, [B, V]."""
    return p[torch.arange(p.shape[0]), correct]


def deciding_uniform(u_final: torch.Tensor, correct: torch.Tensor) -> torch.Tensor:
    """The last uniform of each request, [B]: its only one, or that of the position after its accepted drafts."""
    return u_final if u_final.dim() == 1 else u_final.gather(1, correct.unsqueeze(1)).squeeze(1)


def check_read_rows(op: str, p: torch.Tensor, q: torch.Tensor | None, mask: torch.Tensor) -> None:
    """Debug check of the rows that the rule may read."""
    for request, count in enumerate(mask.sum(1).tolist()):
        check_probabilities(op, "p", p[request, : count + 1])
        if q is not None and count:
            check_probabilities(op, "q", q[request, :count])


def chain_accept(
    p: torch.Tensor,
    q: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference."""
    sizes = check_rule(CONTRACT, p, q, drafts, u, u_final, verify_lens)
    block = sizes["G"]
    mask = candidates(drafts, verify_lens)
    if debug:
        check_read_rows("chain_accept", p, q, mask)
    ids = drafts.clamp_min(0).unsqueeze(-1)
    p_drafts = p[:, :block].gather(2, ids).squeeze(-1)
    q_drafts = q.gather(2, ids).squeeze(-1)
    passed = mask & (q_drafts > 0) & (q_drafts <= 1) & (u * q_drafts < p_drafts)
    correct = passed.long().cumprod(1).sum(1)
    rejected = (correct < mask.sum(1)).unsqueeze(1)
    p_row = deciding_rows(p, correct)
    q_row = deciding_rows(q, correct.clamp_max(block - 1))
    left = (p_row - q_row.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)).clamp_min_(0.0)
    weights = torch.where(rejected & (left.sum(1, keepdim=True) > 0), left, p_row)
    return correct, pick(weights, deciding_uniform(u_final, correct))
