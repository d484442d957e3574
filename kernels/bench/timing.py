"""Wall time of a call, with the device drained around it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Timing:
    """Microseconds of one call over `repeats` samples."""

    median_us: float
    p10_us: float
    p90_us: float
    repeats: int


def synchronize(device: torch.device) -> None:
    """Wait for the device; a CPU call is done when it returns."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(call: Callable[[], Any], device: torch.device, repeats: int, warmup: int) -> Timing:
    """Time `call` `repeats` times after `warmup` unmeasured calls (compilation, caches, allocator)."""
    for _ in range(warmup):
        call()
    synchronize(device)
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        synchronize(device)
        samples.append((time.perf_counter() - start) * 1e6)
    samples.sort()
    return Timing(statistics.median(samples), samples[len(samples) // 10], samples[len(samples) * 9 // 10], repeats)
