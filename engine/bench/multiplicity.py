"""Many comparisons at once: adjusted p values, and how often the procedure cries wolf on runs of one configuration."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from engine.bench.compare import CONFIDENCE, Spread, t_quantile

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


# Up to so many pairs every relabelling is tried; above, a fixed number is drawn, and the interval is resampled over the pairs.
EXHAUSTIVE_PAIRS = 7
DRAWS = 4000
RESAMPLES, DRAWS_EACH = 400, 250
BOOTSTRAP, INDEPENDENT = "bootstrap over pairs", "independent comparisons"
ASKED = 40
"""Comparisons below which the rate of false alarms is said to rest on few; four pairs of boots give as many."""


@dataclass(frozen=True)
class FalseAlarm:
    """Verdicts other than `not resolved` among comparisons of a configuration with itself."""

    pairs: int
    """Recorded A/A pairs of boots that the comparisons are made of; the comparisons overlap."""
    comparisons: int
    independent: int
    """Comparisons that share no pair, far fewer than `comparisons`."""
    alarms: int
    rate: float
    lo: float
    hi: float
    """95 % interval. Few pairs: a score interval whose n is `independent`. More than that: the rate again over resampled pairs."""
    interval: str

    def as_dict(self) -> dict:
        return asdict(self)


def too_few(found: FalseAlarm | None, pairs: int) -> str | None:
    """What is to be said where fewer comparisons than asked could be made of the recorded pairs, or none; None where there are enough."""
    made = found.comparisons if found else 0
    if made >= ASKED:
        return None
    return f"false alarms: {made} relabelled comparisons from {pairs} pairs of boots, {ASKED} are asked: how often there are any is not known"


def is_alarm(chosen: Sequence[float], spread: Spread) -> bool:
    """Whether these log ratios would be judged better or worse, as `compare` judges."""
    return abs(fmean(chosen)) > t_quantile(0.5 + CONFIDENCE / 2, spread.df) * spread.sd / math.sqrt(len(chosen))


def every_relabelling(log_ratios: Sequence[float], sizes: Sequence[int]) -> Iterator[bool]:
    """A pattern of labels and its mirror image give the same verdict up to its name, so one of the two counts."""
    for signs in itertools.product((1.0, -1.0), repeat=len(log_ratios) - 1):
        signed = [value * sign for value, sign in zip(log_ratios, (1.0, *signs), strict=True)]
        spread = Spread.pooled([signed])
        for size in sizes:
            for chosen in itertools.combinations(signed, size):
                yield is_alarm(chosen, spread)


def drawn_relabellings(log_ratios: Sequence[float], sizes: Sequence[int], count: int, draw: random.Random) -> Iterator[bool]:
    """`count` comparisons with labels and pairs at random, the sizes in turn."""
    for number in range(count):
        signed = [value if draw.random() < 0.5 else -value for value in log_ratios]
        yield is_alarm(draw.sample(signed, sizes[number % len(sizes)]), Spread.pooled([signed]))


def false_alarms(log_ratios: Sequence[float], sizes: Sequence[int]) -> FalseAlarm | None:
    """Permute the labels inside recorded A/A pairs and judge sets of `sizes` pairs as a candidate would be judged.

    Swapping the labels of a pair flips the sign of its log ratio. Relabelling the same pairs adds no machine time, so the interval
    follows the pairs and not the comparisons. None where there are fewer than two pairs.
    """
    n = len(log_ratios)
    sizes = sorted({size for size in sizes if size <= n})
    if n < 2 or not sizes:
        return None
    draw = random.Random(n)
    few = n <= EXHAUSTIVE_PAIRS
    found = list(every_relabelling(log_ratios, sizes) if few else drawn_relabellings(log_ratios, sizes, DRAWS, draw))
    rate, independent = sum(found) / len(found), n // sizes[0]
    if few:
        lo, hi = wilson(rate * independent, independent)
    else:
        rates = sorted(
            sum(drawn_relabellings(draw.choices(log_ratios, k=n), sizes, DRAWS_EACH, draw)) / DRAWS_EACH for _ in range(RESAMPLES)
        )
        lo, hi = min(rate, rates[round(0.025 * RESAMPLES)]), max(rate, rates[round(0.975 * RESAMPLES) - 1])
    return FalseAlarm(n, len(found), independent, sum(found), rate, lo, hi, INDEPENDENT if few else BOOTSTRAP)
