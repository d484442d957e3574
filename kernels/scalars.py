"""Constants as zero-dimensional CPU tensors.

torch wraps a Python number in a new tensor at every call, which costs more than the arithmetic on a small row.
"""

from __future__ import annotations

from functools import cache

import torch


@cache
def scalar(value: float) -> torch.Tensor:
    """float32 tensor [] holding `value`; usable inside and outside of inference mode. Never write to it."""
    with torch.inference_mode(False):
        return torch.tensor(value, dtype=torch.float32)
