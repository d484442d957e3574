"""Paired comparisons: a mean of log ratios, one a pair of boots, and Student's t on it. The rule of the search, so that page and search agree."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SLICES = 20_000


@functools.cache
def _table(df: int) -> tuple[np.ndarray, np.ndarray]:
    """(t, probability of less) on a grid of angles theta = atan(t / sqrt(df)), in which the density is a power of the cosine."""
    angles = np.linspace(-math.pi / 2, math.pi / 2, SLICES + 1)
    density = np.cos(angles).clip(0) ** (df - 1)
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    with np.errstate(over="ignore"):
        return math.sqrt(df) * np.tan(angles), below / below[-1]


def t_quantile(probability: float | np.ndarray, df: int) -> float | np.ndarray:
    """Inverse of Student's t distribution, to five digits."""
    t, below = _table(df)
    return np.interp(probability, below, t)


def two_sided(t: float, df: int) -> float:
    """Probability of a t at least so far from zero, on either side."""
    values, below = _table(df)
    return float(2 * np.interp(-abs(t), values, below))


def spread(groups: Sequence[Sequence[float]], aa: Sequence[float]) -> tuple[float, int]:
    """(standard deviation of a log ratio, its degrees of freedom): pooled within the groups, and no less than that of base against base.

    The larger of the two brings its own degrees of freedom; (nan, 0) where neither has a repeat.
    """
    known = [one for one in (pooled(groups), pooled([aa])) if one[1]]
    return max(known, default=(math.nan, 0))


def pooled(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    squares = sum(float(np.sum((np.asarray(group) - np.mean(group)) ** 2)) for group in groups if len(group) > 1)
    df = sum(len(group) - 1 for group in groups if len(group) > 1)
    return (math.sqrt(squares / df) if df else math.nan), df


@dataclass(frozen=True)
class Paired:
    """What `n` log ratios say: their mean, its standard error, and the degrees of freedom behind that."""

    mean: float
    error: float
    df: int

    @classmethod
    def of(cls, logs: Sequence[float], spread: tuple[float, int]) -> Paired:
        return cls(float(np.mean(logs)), spread[0] / math.sqrt(len(logs)), spread[1])

    @property
    def known(self) -> bool:
        """Whether anything says how far the mean may be off."""
        return self.df > 0

    def reach(self, level: float) -> float:
        """How far the interval of this level reaches to either side of the mean."""
        return float(t_quantile(0.5 + level / 2, self.df)) * self.error

    @property
    def p(self) -> float:
        """Two-sided, of a mean of zero."""
        return two_sided(self.mean / self.error, self.df) if self.error > 0 else float(self.mean == 0)

    def drawn(self, count: int) -> np.ndarray:
        """`count` means that other pairs might have had: the percentile interval of these is the t interval."""
        if count < 3 or not self.known:
            return np.full(count, math.nan)
        places = np.arange(count) / (count - 1)
        places[[0, -1]] = places[1] / 4, 1 - places[1] / 4  # the ends of the distribution are infinite
        return self.mean + self.error * np.asarray(t_quantile(places, self.df))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given: those below 0.05 hold together at 5 % for the whole family."""
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted
