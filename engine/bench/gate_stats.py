"""Comparison of two sets of answers to the same problems. Pure; the unit is the problem, whose repeats are one cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev

from engine.bench.compare import t_quantile

CONFIDENCE = 0.95
POWER = 0.80


def mcnemar(gained: int, lost: int) -> float:
    """Two-sided exact p of `gained` against `lost` discordant problems; 1 where none disagrees."""
    n = gained + lost
    if n == 0:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(min(gained, lost) + 1)) / 2**n
    return min(1.0, 2 * tail)


@dataclass(frozen=True)
class Difference:
    """Mean over the problems of (candidate's share correct - base's share correct)."""

    problems: int
    mean: float
    lo: float
    """One-sided 95 % bounds."""
    hi: float
    verdict: str
    """non-inferior, inferior or not resolved, against the margin."""
    needed: int | None
    """Problems that would resolve a true difference of zero at this spread; null when it is resolved."""
    pooled_sem: float | None
    sigma: float | None
    """Mean difference over the pooled standard error of both scores, unpaired, as evaluation harnesses print it."""
    gained: int
    lost: int
    mcnemar_p: float

    def as_dict(self) -> dict:
        return asdict(self)


def standard_error(values: Sequence[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def unseen(problems: int) -> float:
    """Largest share of differing problems that could have stayed unseen in so many (5 % chance): no margin below it can be resolved."""
    return 1.0 - (1.0 - CONFIDENCE) ** (1.0 / problems)


def needed_for(margin: float) -> int:
    """Problems that resolve a margin where none differs."""
    return math.ceil(math.log(1.0 - CONFIDENCE) / math.log(1.0 - margin))


def paired(base: Sequence[Sequence[int]], candidate: Sequence[Sequence[int]], margin: float) -> Difference:
    """Both [problems][repeats] of 0 and 1, the same problems in the same order. `margin` is a share, declared before.

    Where no problem differs the spread says nothing; then the bound is the largest share of differing problems that could
    have stayed unseen in so many (5 % chance).
    """
    if len(base) != len(candidate) or len(base) < 2:
        raise ValueError(f"paired scores need the same problems on both sides, at least 2; got {len(base)} and {len(candidate)}")
    a, b = [fmean(one) for one in base], [fmean(one) for one in candidate]
    differences = [y - x for x, y in zip(a, b, strict=True)]
    n, mean, error = len(differences), fmean(differences), standard_error(differences)
    reach = t_quantile(CONFIDENCE, n - 1) * error if any(differences) else unseen(n)
    lo, hi = mean - reach, mean + reach
    verdict = "non-inferior" if lo > -margin else "inferior" if hi < -margin else "not resolved"
    needed = None
    if verdict == "not resolved" and any(differences):
        needed = max(n + 1, math.ceil(((t_quantile(CONFIDENCE, n - 1) + t_quantile(POWER, n - 1)) * error * math.sqrt(n) / margin) ** 2))
    elif verdict == "not resolved":
        needed = needed_for(margin)
    pooled = math.hypot(standard_error(a), standard_error(b))
    gained = sum(y > x for x, y in zip(a, b, strict=True))
    lost = sum(y < x for x, y in zip(a, b, strict=True))
    return Difference(
        n, mean, lo, hi, verdict, needed, pooled, mean / pooled if pooled > 0 else None, gained, lost, mcnemar(gained, lost)
    )


def sign_flip(base: Sequence[float], candidate: Sequence[float]) -> float:
    """Two-sided p that paired values differ by chance: exact over all sign patterns up to 16 pairs, else by a normal tail.

    Used for the variety of sampled text: how many different outputs a problem's repeats gave.
    """
    differences = [y - x for x, y in zip(base, candidate, strict=True) if y != x]
    n = len(differences)
    if n == 0:
        return 1.0
    total = abs(sum(differences))
    if n > 16:
        return math.erfc(total / math.sqrt(2.0 * sum(d * d for d in differences)))
    sums = {0.0: 1}
    for d in differences:
        grown: dict[float, int] = {}
        for value, count in sums.items():
            for step in (d, -d):
                grown[value + step] = grown.get(value + step, 0) + count
        sums = grown
    return sum(count for value, count in sums.items() if abs(value) >= total - 1e-9) / 2**n
