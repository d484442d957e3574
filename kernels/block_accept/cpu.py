"""Blockwise acceptance on CPU, all requests in one set of dispatches a prefix length."""

from __future__ import annotations

import torch

from kernels.block_accept.reference import CONTRACT
from kernels.chain_accept.cpu import candidates, check_read_rows, deciding_rows, deciding_uniform, pick
from kernels.chain_accept.reference import check_rule


def block_accept(
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
    batch, block = sizes["B"], sizes["G"]
    mask = candidates(drafts, verify_lens)
    if debug:
        check_read_rows("block_accept", p, q, mask)
    counts = mask.sum(1)
    ids = drafts.clamp_min(0).unsqueeze(-1)
    p_drafts = p[:, :block].gather(2, ids).squeeze(-1)
    q_drafts = q.gather(2, ids).squeeze(-1)
    plausible = (q_drafts > 0) & (q_drafts <= 1)
    clean_q = q.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    ratio = torch.ones(batch)
    correct = torch.zeros(batch, dtype=torch.int64)
    decided_ratio = torch.ones(batch)
    for length in range(1, block + 1):
        step = torch.where(plausible[:, length - 1], ratio * p_drafts[:, length - 1] / q_drafts[:, length - 1], 0.0)
        ratio = torch.where(mask[:, length - 1], step.clamp_max(1.0), ratio)
        probability = ratio
        if length < block:
            mass = (ratio.unsqueeze(1) * p[:, length] - clean_q[:, length]).clamp_min_(0.0).sum(1)
            inner = torch.where(mass > 0, mass / (mass + 1.0 - ratio), 0.0)
            probability = torch.where(counts == length, ratio, inner)
        kept = mask[:, length - 1] & (u[:, length - 1] < probability)
        correct = torch.where(kept, length, correct)
        decided_ratio = torch.where(kept, ratio, decided_ratio)
    p_row = deciding_rows(p, correct)
    q_row = deciding_rows(clean_q, correct.clamp_max(block - 1))
    left = (decided_ratio.unsqueeze(1) * p_row - q_row).clamp_min_(0.0)
    partial = (correct < counts).unsqueeze(1)
    weights = torch.where(partial & (left.sum(1, keepdim=True) > 0), left, p_row)
    return correct, pick(weights, deciding_uniform(u_final, correct))
