"""One-hot acceptance on CPU, all requests in one set of dispatches."""

from __future__ import annotations

import torch

from kernels.chain_accept.cpu import candidates, check_read_rows, deciding_rows, deciding_uniform, pick
from kernels.chain_accept.reference import check_rule
from kernels.one_hot_accept.reference import CONTRACT


def one_hot_accept(
    p: torch.Tensor,
    drafts: torch.Tensor,
    u: torch.Tensor,
    u_final: torch.Tensor,
    verify_lens: torch.Tensor | None = None,
    debug: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference."""
    sizes = check_rule(CONTRACT, p, None, drafts, u, u_final, verify_lens)
    block = sizes["G"]
    mask = candidates(drafts, verify_lens)
    if debug:
        check_read_rows("one_hot_accept", p, None, mask)
    ids = drafts.clamp_min(0)
    p_drafts = p[:, :block].gather(2, ids.unsqueeze(-1)).squeeze(-1)
    correct = (mask & (u < p_drafts)).long().cumprod(1).sum(1)
    rejected = (correct < mask.sum(1)).unsqueeze(1)
    p_row = deciding_rows(p, correct)
    token = ids.gather(1, correct.clamp_max(block - 1).unsqueeze(1))
    left = p_row.scatter(1, token, 0.0)
    weights = torch.where(rejected & (left.sum(1, keepdim=True) > 0), left, p_row)
    return correct, pick(weights, deciding_uniform(u_final, correct))
