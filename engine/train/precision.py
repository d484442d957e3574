"""Which arithmetic trains faster on this machine: float32 or bfloat16 matrices."""

from __future__ import annotations

import contextlib
import time

import torch


def measured_faster() -> str:
    """``float32`` or ``bfloat16``, from one matrix product of a training shape.

    Not every processor with bfloat16 instructions gains from them: without a matrix
    unit the product can take twice as long as in float32.
    """
    operands = {
        name: (torch.randn(1024, 256).to(kind), torch.randn(256, 1280).to(kind))
        for name, kind in (("float32", torch.float32), ("bfloat16", torch.bfloat16))
    }
    seconds = dict.fromkeys(operands, float("inf"))
    # alternate and keep the best, so that a busy moment cannot decide
    for _ in range(12):
        for name, (x, w) in operands.items():
            start = time.perf_counter()
            x @ w
            seconds[name] = min(seconds[name], time.perf_counter() - start)
    return min(seconds, key=seconds.__getitem__)


def autocast(precision: str):
    """Context of the forward pass."""
    if precision == "bfloat16":
        return torch.autocast("cpu", torch.bfloat16)
    return contextlib.nullcontext()
