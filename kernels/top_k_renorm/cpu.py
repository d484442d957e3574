"""Top-k truncation by the k-th value: a partial selection instead of a sort."""

from __future__ import annotations

import torch

from kernels.top_k_renorm.reference import CONTRACT


def top_k_renorm(probs: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference."""
    vocabulary = CONTRACT.check(probs=probs, top_k=top_k)["V"]
    wanted = top_k.tolist()
    active = [row for row, k in enumerate(wanted) if 0 < k < vocabulary]
    if not active:
        return probs.clone()
    result = probs.clone()
    for row in active:
        p = probs[row]
        kth = torch.topk(p, wanted[row]).values[-1]
        kept = p > kth
        ties = p == kth
        missing = wanted[row] - kept.sum()
        kept |= ties & (ties.cumsum(0) <= missing)
        weights = torch.where(kept, p, 0.0)
        result[row] = weights / weights.sum()
    return result
