"""Many comparisons at once: adjusted p values, and how often the procedure cries wolf on runs of one configuration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from engine.bench.compare import Spread, compare

Z95 = 1.959963984540054


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values, in the order given: below 0.05 they hold together at 5 % for the whole family."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted


def wilson(hits: float, n: int) -> tuple[float, float]:
    """95 % interval of a proportion; `hits` need not be whole where a share is carried over to a smaller n."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = hits / n, Z95 * Z95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    # rounding must not push the interval off the share itself
    return max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach))


@dataclass(frozen=True)
class FalseAlarm:
    """Verdicts other than `not resolved` among comparisons of a configuration with itself."""

    pairs: int
    """Recorded A/A pairs of boots that the comparisons are made of; the comparisons overlap."""
    comparisons: int
    independent: int
    """Comparisons that share no pair: the n of the interval, far below `comparisons`."""
    alarms: int
    rate: float
    lo: float
    hi: float

    def as_dict(self) -> dict:
        return asdict(self)


def false_alarms(log_ratios: Sequence[float], sizes: Sequence[int]) -> FalseAlarm | None:
    """Permute the labels inside recorded A/A pairs and judge every set of `sizes` pairs as a candidate would be judged.

    Swapping the labels of a pair flips the sign of its log ratio. A pattern and its mirror image give the same verdict up to
    its name, so one of the two counts. Relabelling the same pairs adds no machine time, so the interval takes for its n only the
    comparisons that the pairs can make without sharing one. None where there are fewer than two pairs.
    """
    n = len(log_ratios)
    if n < 2:
        return None
    alarms = comparisons = 0
    for signs in itertools.product((1.0, -1.0), repeat=n - 1):
        signed = [value * sign for value, sign in zip(log_ratios, (1.0, *signs), strict=True)]
        spread = Spread.pooled([signed])
        for size in sizes:
            if size > n:
                continue
            for chosen in itertools.combinations(signed, size):
                comparisons += 1
                alarms += compare(chosen, spread).verdict != "not resolved"
    if not comparisons:
        return None
    rate, independent = alarms / comparisons, n // min(size for size in sizes if size <= n)
    lo, hi = wilson(rate * independent, independent)
    return FalseAlarm(n, comparisons, independent, alarms, rate, lo, hi)
