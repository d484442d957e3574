"""Linear projection, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("linear", x="M K | float", weight="N K | float")


def check_input(x: torch.Tensor, weight: torch.Tensor) -> None:
    """x [M, K] for a weight [N, K], in its dtype."""
    CONTRACT.check(x=x, weight=weight)
    if x.dtype != weight.dtype:
        raise ValueError(f"linear: x {list(x.shape)} has dtype {x.dtype}, the weight {list(weight.shape)} {weight.dtype}")


class ReferenceLinear:
    """y = x W^T accumulated in float32 and rounded once to x's dtype."""

    mode = "reference"

    def __init__(self, weight: torch.Tensor) -> None:
        CONTRACT.check(weight=weight)
        self.weight = weight
        self.out_features, self.in_features = weight.shape

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [M, K] -> [M, N] in x's dtype."""
        check_input(x, self.weight)
        rows = []
        for row in x.float():
            # One matrix-vector product a row: the number of rows cannot change the order of the sum.
            rows.append(torch.mv(self.weight.float(), row))
        if not rows:
            return x.new_empty(0, self.out_features)
        return torch.stack(rows).to(x.dtype)


def linear(weight: torch.Tensor) -> ReferenceLinear:
    """Factory: a callable that projects rows with `weight` [N, K], each row independent of the others.

    A factory, because backends pack the weight once into the layout their kernels want. The callable has
    `in_features`, `out_features`, `weight` and `mode`. ValueError (naming x or weight) on a shape that
    does not fit.
    Source: the definition, row by row.
    """
    return ReferenceLinear(weight)
