"""Nucleus truncation of probabilities, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("top_p_renorm", probs="R V | f32", top_p="R | f32")


def top_p_renorm(probs: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Keep the most likely tokens until their sum reaches top_p, and divide by the sum of the kept.

    In order of falling probability (ties: lower id), a token stays while the mass before it is below top_p, so
    at least one stays. probs [R, V] float32; top_p [R] float32 in (0, 1], 1 keeps the row as it is.
    Returns [R, V] float32. ValueError on shapes or a top_p outside (0, 1]. Source: Holtzman et al., 2019.
    """
    sizes = CONTRACT.check(probs=probs, top_p=top_p)
    result = probs.clone()
    for row in range(sizes["R"]):
        limit = float(top_p[row])
        if not 0.0 < limit <= 1.0:
            raise ValueError(f"top_p_renorm: top_p[{row}] = {limit}, expected a value in (0, 1] for probs {list(probs.shape)}")
        if limit == 1.0:
            continue
        sorted_probs, order = torch.sort(probs[row], descending=True, stable=True)
        mass_before = torch.cumsum(sorted_probs, dim=0) - sorted_probs
        result[row, order[mass_before >= limit]] = 0.0
        result[row] = result[row] / result[row].sum()
    return result
