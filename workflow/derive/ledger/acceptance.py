"""How far an acceptance can be trusted: an interval by steps, and one by cluster.

Steps of one prompt resemble one another, so an interval that takes every step for an independent trial is too narrow. The one by
cluster draws whole prompts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z = 1.959963984540054
"""Normal quantile of a 95 % interval."""
RESAMPLES, SEED = 2000, 20261129
FEWEST_CLUSTERS = 5


@dataclass(frozen=True)
class Acceptance:
    """Tokens accepted a round, with the intervals that the data allow."""

    rate: float
    """Accepted drafts a round; with one draft, the probability p."""
    steps: int
    by_steps: tuple[float, float]
    by_cluster: tuple[float, float] | None = None
    clusters: int = 0

    @property
    def half_width(self) -> float:
        """Half of the interval by steps."""
        return (self.by_steps[1] - self.by_steps[0]) / 2

    def as_dict(self) -> dict:
        return {
            "rate": self.rate, "steps": self.steps, "by_steps": list(self.by_steps),
            "by_cluster": list(self.by_cluster) if self.by_cluster else None, "clusters": self.clusters,
        }  # fmt: skip


def wald(rate: float, steps: int) -> float:
    """Half width of the textbook interval, Z sqrt(p (1 - p) / n): what a text usually prints."""
    return Z * math.sqrt(rate * (1 - rate) / steps)


def wilson(rate: float, steps: int) -> tuple[float, float]:
    """Score interval of a probability, which stays inside [0, 1] and is right for few steps."""
    spread = Z * Z / steps
    centre, half = rate + spread / 2, Z * math.sqrt(rate * (1 - rate) / steps + spread / (4 * steps))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))


def of_one_draft(rate: float, steps: int) -> Acceptance:
    """One draft a round: a probability over so many steps."""
    return Acceptance(rate, steps, wilson(rate, steps))


def of_clusters(rounds: Sequence[float], accepted: Sequence[float], gamma: int, squares: Sequence[float] | None = None) -> Acceptance:
    """From rounds and accepted drafts of each cluster (prompt) [clusters]; `squares` [clusters] sums the squared accepted counts.

    Without `squares` and with more than one draft, the interval by steps takes the largest variance that the mean allows.
    """
    n, k = np.asarray(rounds, float), np.asarray(accepted, float)
    total, rate = float(n.sum()), float(k.sum() / n.sum())
    if gamma == 1:
        by_steps = wilson(rate, round(total))
    else:
        variance = float(np.sum(squares)) / total - rate**2 if squares is not None else rate * (gamma - rate)
        half = Z * math.sqrt(max(variance, 0.0) / total)
        by_steps = (max(0.0, rate - half), min(float(gamma), rate + half))
    drawn = None
    if len(n) >= FEWEST_CLUSTERS:
        counts = np.random.default_rng(SEED).multinomial(len(n), np.full(len(n), 1 / len(n)), size=RESAMPLES)
        low, high = np.quantile((counts @ k) / (counts @ n), [0.025, 0.975])
        drawn = (float(low), float(high))
    return Acceptance(rate, round(total), by_steps, drawn, len(n))
