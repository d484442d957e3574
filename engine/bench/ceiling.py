"""The memory ceiling: how large a fraction of the device's memory the static pools may take before real work runs out of it.

A boot proves nothing: it allocates weights and pools, and serving adds activations. So every fraction is tried with a hostile
probe (prompts that fill a whole prefill chunk, fanned out at the lane's concurrency, one wave), and running out is a result.
Pure: the caller boots.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Outcome:
    """One fraction tried. `status` ok, oom or another failure; bytes are null where the boot could not say."""

    status: str
    available_bytes: int | None = None
    """Left after boot, before any request."""
    peak_bytes: int | None = None
    """Largest transient use while the hostile probe ran."""


@dataclass(frozen=True)
class Attempt:
    label: str
    """anchor, floor (everything that was free after the anchor's boot), peak (the same less the activations that the anchor's
    own probe showed), or bisect-N."""
    fraction: float
    outcome: Outcome


@dataclass(frozen=True)
class Ceiling:
    attempts: tuple[Attempt, ...]
    fraction: float | None
    """Largest fraction that passed its probe; null where none did."""
    floor_prediction: float | None
    peak_prediction: float | None
    bounded: bool
    """Whether the next grid step above it failed, so that nothing is left to try."""


def search(
    probe: Callable[[str, float], Outcome], device_bytes: int, anchor: float = 0.85, step: float = 0.01, boots: int = 7, highest: float = 0.99
) -> Ceiling:
    """Anchor, two predictions, then bisection on a grid of `step`, in `boots` boots at most.

    `probe(label, fraction)` boots and runs the hostile wave.
    """
    attempts: list[Attempt] = []
    tried: dict[float, Outcome] = {}

    def attempt(label: str, fraction: float) -> Outcome:
        if fraction not in tried:
            tried[fraction] = probe(label, fraction)
            attempts.append(Attempt(label, fraction, tried[fraction]))
        return tried[fraction]

    def grid(value: float) -> float:
        """The next grid step below, inside what may be tried."""
        return round(min(highest, max(step, math.floor(value / step + 1e-9) * step)), 6)

    booted = grid(anchor)
    first = attempt("anchor", booted)
    floor = peak = None
    if first.available_bytes is not None:
        floor = grid(booted + first.available_bytes / device_bytes)
        if first.peak_bytes is not None:
            peak = grid(booted + (first.available_bytes - first.peak_bytes) / device_bytes)
    for label, fraction in (("floor", floor), ("peak", peak)):
        if fraction is not None and len(attempts) < boots:
            attempt(label, fraction)

    def bounds() -> tuple[float, float]:
        good = [fraction for fraction, one in tried.items() if one.status == "ok"]
        low = max(good, default=0.0)
        high = min((fraction for fraction, one in tried.items() if one.status != "ok" and fraction > low), default=round(highest + step, 6))
        return low, high

    number = 1
    low, high = bounds()
    while high - low > step * 1.5 and len(attempts) < boots:
        middle = grid((low + high) / 2)
        if middle in tried:
            break
        attempt(f"bisect-{number}", middle)
        number += 1
        low, high = bounds()
    return Ceiling(tuple(attempts), low or None, floor, peak, high - low <= step * 1.5)
