"""Cells of one setting beside those of another on the same boot: the ratio of what they serve, and how far it may be off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from workflow.derive.facts.search import aa_logs
from workflow.derive.paired import Paired, spread
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample


def logs_beside(rows: Rows, base: Rows, stage: str) -> np.ndarray:
    """ln(output throughput of a cell / geometric mean of those of the base in the same boot's block) [cells]."""
    rates: dict[str, list[float]] = {}
    for boot, rate in zip(base.texts("boot"), np.log(base.read("output_throughput"))):
        rates.setdefault(boot, []).append(rate)
    logs = []
    for boot, rate in zip(rows.texts("boot"), np.log(rows.read("output_throughput"))):
        if boot not in rates:
            raise Missing(f"stage {stage}, boot {boot}: the base has no cell beside that of another setting")
        logs.append(rate - np.mean(rates[boot]))
    return np.array(logs)


def scatter(read, groups: Sequence[np.ndarray]) -> tuple[float, int]:
    """Spread of a log ratio and its degrees of freedom: pooled over the settings, and no less than the A/A pairs'."""
    return spread(groups, aa_logs(read, "output_throughput"))


def mean_drawn(rows: Rows, values: np.ndarray) -> Sample:
    """Mean of `values` [cells of `rows`], its resamples those of the boots."""
    return Sample(rows.weights.sums(rows.index, values)) / rows.count()


def mean_ratio(read, rows: Rows, logs: np.ndarray, scattered: tuple[float, int]) -> Sample:
    """exp of the mean of `logs` [cells of `rows`]. Its resamples are those of Student's t, so the interval shown is the one that is judged."""
    drawn = mean_drawn(rows, logs).values
    shown = 1 + read.derivation.resampling.boots_shown
    return Sample(np.exp(np.concatenate([drawn[:shown], Paired.of(logs, scattered).drawn(len(drawn) - shown)])))


def detectable_of(read, groups: Sequence[np.ndarray]) -> float:
    """How far such a ratio may be off, as a share: t x standard error of the setting with the fewest pairs."""
    fewest = Paired.of(min(groups, key=len), scatter(read, groups))
    if not fewest.known:
        raise Missing("one boot of each setting and no A/A pairs: nothing says how far the ratio may be off")
    return math.expm1(fewest.reach(read.derivation.level))
