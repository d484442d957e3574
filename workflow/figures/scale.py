"""Axis transforms and tick choice. Data coordinates to a fraction of the panel; nothing else is computed in this package."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A monotone map of [lo, hi] onto [0, 1]; `log` spaces equal ratios equally."""

    lo: float
    hi: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            return math.log(value / self.lo) / math.log(self.hi / self.lo)
        return (value - self.lo) / (self.hi - self.lo)


def from_zero(values: Iterable[float], headroom: float = 1.08) -> Scale:
    """Zero-based linear scale with a little air above the largest value."""
    top = max((v for v in values if v > 0), default=1.0)
    return Scale(0.0, top * headroom)


def around(values: Iterable[float], pad: float = 0.08) -> Scale:
    """Linear scale over the data with padding on both sides; a single value gets a range of its own."""
    known = list(values)
    lo, hi = min(known), max(known)
    span = (hi - lo) or abs(hi) * 0.2 or 1.0
    return Scale(lo - pad * span, hi + pad * span)


def log_over(values: Iterable[float], pad: float = 1.12) -> Scale:
    """Logarithmic scale over positive data, widened by the ratio `pad` on both sides."""
    known = [v for v in values if v > 0] or [1.0]
    lo, hi = min(known), max(known)
    return Scale(lo / pad, max(hi * pad, lo / pad * 1.01), log=True)


def nice_ticks(scale: Scale, count: int = 4) -> list[float]:
    """About `count` round values inside a linear scale (steps of 1, 2, 2.5 or 5 times a power of ten)."""
    span = scale.hi - scale.lo
    power = 10.0 ** math.floor(math.log10(span / max(count, 1)))
    step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(span / s - count))
    first = math.ceil(scale.lo / step - 1e-9)
    return [float(f"{i * step:.10g}") for i in range(first, math.floor(scale.hi / step + 1e-9) + 1)]


def round_log_ticks(scale: Scale) -> list[float]:
    """The members of 1, 2, 5 times powers of ten inside a logarithmic scale."""
    lo, hi = math.floor(math.log10(scale.lo)), math.ceil(math.log10(scale.hi))
    ticks = [m * 10.0**p for p in range(lo, hi + 1) for m in (1, 2, 5)]
    return [float(f"{t:.10g}") for t in ticks if scale.lo * 0.9999 <= t <= scale.hi * 1.0001]


def thin(ticks: list, keep: int) -> list:
    """At most about `keep` of the ticks, always with the first and the last."""
    if len(ticks) <= keep:
        return ticks
    stride = math.ceil((len(ticks) - 1) / (keep - 1))
    kept = ticks[:: stride]
    if kept[-1] != ticks[-1]:
        # The last tick states the range; its neighbour goes if they would crowd each other.
        kept = [t for t in kept if ticks.index(t) <= len(ticks) - 1 - stride / 1.5] + [ticks[-1]]
    return kept


def tick_text(value: float, ticks: Iterable[float] = ()) -> str:
    """A tick as digits, with as many decimals as the finest tick of its axis needs."""
    decimals = max((_decimals(t) for t in (value, *ticks)), default=0)
    return f"{value:,.{decimals}f}"


def _decimals(value: float) -> int:
    text = f"{value:.6f}".rstrip("0")
    return len(text.split(".")[1])
