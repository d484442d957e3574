"""Greedy Markov step in few dispatches."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernels.markov_greedy.reference import CONTRACT, check_step
from kernels.row_argmax.cpu import row_argmax


def markov_logits(
    op: str,
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """U + W2 W1[prev], [B, V] float32, added in place on the one temporary."""
    if isinstance(w2, torch.Tensor):
        bias = w1.index_select(0, prev).float() @ w2.float().T
    else:
        bias = w2(w1.index_select(0, prev))
        if bias.shape != base.shape:
            raise ValueError(f"{op}: w2 projects to {list(bias.shape)}, expected base's {list(base.shape)}")
        if bias.dtype is not torch.float32:
            bias = bias.float()
    return bias.add_(base)


def markov_greedy(
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Same semantics as the reference; row-independent when `w2` is a projection of `linear`."""
    check_step(CONTRACT, w2, base=base, prev=prev, w1=w1)
    return row_argmax(markov_logits("markov_greedy", base, prev, w1, w2))
