"""One greedy step of the Markov head, in float32."""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernels.contract import Contract
from kernels.row_argmax.reference import row_argmax

STEP = {"base": "B V | float", "prev": "B | int", "w1": "V r | float", "w2": "V r | float"}
CONTRACT = Contract("markov_greedy", **STEP)


def check_step(
    contract: Contract,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
    **tensors: torch.Tensor,
) -> dict[str, int]:
    """Sizes B, V, r of one step; what a projection returns is checked where it is called."""
    if callable(w2) and not isinstance(w2, torch.Tensor):
        return contract.check(**tensors)
    return contract.check(w2=w2, **tensors)


def markov_logits(
    op: str,
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """U + W2 W1[prev], [B, V] float32. `w2` is the matrix [V, r] or a projection made from it by `linear`."""
    if isinstance(w2, torch.Tensor):
        bias = w1[prev].float() @ w2.float().T
    else:
        bias = w2(w1[prev]).float()
        if bias.shape != base.shape:
            raise ValueError(f"{op}: w2 projects to {list(bias.shape)}, expected base's {list(base.shape)}")
    return base.float() + bias


def markov_greedy(
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """x_k = argmax_v (U_k(v) + W2[v] . W1[x_{k-1}]); ties go to the lowest id.

    base [B, V], the draft's logits U at one block row; prev [B] int64, the token before (the anchor for the first row);
    w1 [V, r]; w2 [V, r] or a projection [B, r] -> [B, V]. Returns ids [B] int64.
    ValueError on shapes that do not fit. Source: DSpark paper, vanilla Markov head.
    """
    check_step(CONTRACT, w2, base=base, prev=prev, w1=w1)
    return row_argmax(markov_logits("markov_greedy", base, prev, w1, w2))
