"""Argmax of rows with defined ties and NaNs."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("row_argmax", logits="... V | float")


def check_rows(logits: torch.Tensor) -> int:
    """V of logits [..., V], at least 1."""
    vocabulary = CONTRACT.check(logits=logits)["V"]
    if vocabulary == 0:
        raise ValueError(f"row_argmax: logits has shape {list(logits.shape)}, expected [..., V] with V >= 1")
    return vocabulary


def row_argmax(logits: torch.Tensor) -> torch.Tensor:
    """Lowest id of the largest value of each row; NaN counts as -inf, a row without any number gives id 0.

    logits [..., V] -> [...] int64. ValueError on V = 0. Backends differ in what argmax does with ties and NaN, and a
    draft that is checked elsewhere than it was made must not depend on that. Floats of any width. Source: SGLang 0.5.23, `row_argmax`; ties and NaN are ours.
    """
    vocabulary = check_rows(logits)
    clean = torch.where(torch.isnan(logits), float("-inf"), logits.float())
    largest = clean.amax(dim=-1, keepdim=True)
    ids = torch.arange(vocabulary, device=logits.device)
    return torch.where(clean == largest, ids, vocabulary).amin(dim=-1)
