"""Paired comparison of time per token: log ratios, a t interval, three verdicts. The unit is the boot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from statistics import fmean

CONFIDENCE = 0.95
POWER = 0.80
LEAST_DF = 5
"""Degrees of freedom from which an interval is printed, those of six pairs; below, t reaches so far that the range of the pairs says more."""


def t_cdf(t: float, df: int, slices: int = 2000) -> float:
    """Student's t distribution by Simpson's rule on the angle theta = atan(t / sqrt(df)); error below 1e-9 here."""
    top = math.atan(abs(t) / math.sqrt(df))
    width = top / slices
    total = sum((1 if i in (0, slices) else 4 if i % 2 else 2) * math.cos(i * width) ** (df - 1) for i in range(slices + 1))
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(math.pi)
    half = scale * total * width / 3
    return 0.5 + half if t >= 0 else 0.5 - half


@cache
def t_quantile(probability: float, df: int) -> float:
    """Inverse of `t_cdf` for probability above one half, by bisection."""
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(middle, df) < probability else (low, middle)
    return high


@dataclass(frozen=True)
class Spread:
    """Standard deviation of a paired log ratio and the degrees of freedom behind it."""

    sd: float
    df: int

    @classmethod
    def pooled(cls, groups: Sequence[Sequence[float]]) -> Spread:
        """Within-group spread over several comparisons; every group has its own mean."""
        squares = sum(sum((value - fmean(group)) ** 2 for value in group) for group in groups if len(group) > 1)
        df = sum(len(group) - 1 for group in groups if len(group) > 1)
        return cls(math.sqrt(squares / df) if df else math.nan, df)

    @classmethod
    def floored(cls, groups: Sequence[Sequence[float]], aa: Sequence[float]) -> Spread:
        """What candidates scatter by over their repeats, and no less than base against base: the larger of the two with its own df.

        They are not pooled with each other. Another configuration accepts otherwise on each text, so its ratio to the base moves with
        the prompts of a repeat, and the base's ratio to itself does not: one variance for both would be too small for the candidates.
        """
        known = [spread for spread in (cls.pooled(groups), cls.pooled([aa])) if spread.df]
        return max(known, key=lambda spread: spread.sd, default=cls(math.nan, 0))


@dataclass(frozen=True)
class Comparison:
    """A candidate against the base. `ratio` is time per token of the base over that of the candidate: above one is faster."""

    n: int
    ratio: float
    smallest: float
    largest: float
    """Ratios of the single pairs."""
    lo: float | None
    hi: float | None
    """Null below `LEAST_DF` degrees of freedom."""
    minimum_detectable: float | None
    verdict: str
    p: float | None = None
    """Two-sided; null where nothing is known about the spread."""

    def as_dict(self) -> dict:
        return asdict(self)

    @property
    def reach(self) -> str:
        """The interval in words, or the range of the pairs where there is none."""
        return f"{self.smallest:.3f} to {self.largest:.3f} over the pairs" if self.lo is None else f"{self.lo:.3f} to {self.hi:.3f}"


def compare(log_ratios: Sequence[float], spread: Spread) -> Comparison:
    """Verdict from the t interval: `not resolved` when it contains one, or when nothing is known about the spread."""
    n = len(log_ratios)
    mean = fmean(log_ratios)
    seen = (n, math.exp(mean), math.exp(min(log_ratios)), math.exp(max(log_ratios)))
    if spread.df == 0 or math.isnan(spread.sd):
        return Comparison(*seen, None, None, None, "not resolved")
    error = spread.sd / math.sqrt(n)
    reach = t_quantile(0.5 + CONFIDENCE / 2, spread.df) * error
    detectable = reach + t_quantile(POWER, spread.df) * error
    verdict = "better" if mean - reach > 0 else "worse" if mean + reach < 0 else "not resolved"
    # the last digits of an integral near one are not its own
    p = max(0.0, 2.0 * (1.0 - t_cdf(abs(mean) / error, spread.df))) if error > 0 else float(mean == 0)
    lo, hi = (math.exp(mean - reach), math.exp(mean + reach)) if spread.df >= LEAST_DF else (None, None)
    return Comparison(*seen, lo, hi, math.exp(detectable), verdict, p)


def detectable_ratio(spread: Spread, n: int) -> float | None:
    """Smallest ratio that `n` pairs of this spread resolve with four chances in five; None where nothing is known about the spread."""
    if spread.df == 0 or math.isnan(spread.sd):
        return None
    reach = t_quantile(0.5 + CONFIDENCE / 2, spread.df) + t_quantile(POWER, spread.df)
    return math.exp(reach * spread.sd / math.sqrt(n))
