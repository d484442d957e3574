"""Top-k truncation of probabilities, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("top_k_renorm", probs="R V | f32", top_k="R | int")


def top_k_renorm(probs: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    """Keep exactly the k most likely tokens of a row (equal probabilities: lower id first) and divide by their sum.

    probs [R, V] float32; top_k [R] int64, values <= 0 or >= V keep the row as it is. Returns [R, V] float32.
    ValueError on shapes that do not fit. Applied before top-p. Source: Fan et al., 2018.
    """
    sizes = CONTRACT.check(probs=probs, top_k=top_k)
    result = probs.clone()
    for row in range(sizes["R"]):
        k = int(top_k[row])
        if not 0 < k < sizes["V"]:
            continue
        order = torch.sort(probs[row], descending=True, stable=True).indices
        result[row, order[k:]] = 0.0
        result[row] = result[row] / result[row].sum()
    return result
