"""From points to paired log ratios: candidate against the base that ran beside it, boot by boot."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean

from engine.csvio import Row

TIME = "mean_tpot_ms"


def finished(points: Sequence[Row], stage: str) -> list[Row]:
    return [point for point in points if point["stage"] == stage and point["status"] == "ok"]


def measured(points: Sequence[Row], stage: str, metric: str) -> list[Row]:
    """Finished cells that have the metric: one that a client could not resolve (all chunks in one read) is no time and has no logarithm."""
    return [point for point in finished(points, stage) if point.get(metric)]


def geometric(values: Sequence[float]) -> float:
    return math.exp(fmean(math.log(value) for value in values))


def pair_values(
    points: Sequence[Row], stage: str, labels: tuple[str, str], metric: str, passes: int | None = None
) -> dict[int, tuple[Row, Row, float, float]]:
    """Block -> (a row of each boot, geometric mean of each boot's first `passes`, of all where None), where both boots finished a cell."""
    by_boot: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for point in measured(points, stage, metric):
        if passes is not None and (point.get("in_boot_pass") or 0) >= passes:
            continue
        by_boot[point["boot"], point["label"]].append(point)
    found = {}
    for block in sorted({boot for boot, _ in by_boot}):
        a, b = (by_boot.get((block, label)) for label in labels)
        if a and b:
            found[block] = (a[0], b[0], geometric([row[metric] for row in a]), geometric([row[metric] for row in b]))
    return found


def against_base(
    points: Sequence[Row], metric: str = TIME, stage: str = "window", bases: tuple[str, ...] = ("base",)
) -> dict[str, list[float]]:
    """Label -> one log ratio a block, base over candidate: above zero is faster where the metric is a time.

    The base of a candidate is read off a straight line (of logarithms) through the nearest base cells before and after it,
    so that a steady drift cancels.
    """
    ratios: dict[str, list[float]] = defaultdict(list)
    rows = sorted(measured(points, stage, metric), key=lambda row: row["order"])
    for block in sorted({row["boot"] for row in rows}):
        inside = [row for row in rows if row["boot"] == block]
        base = [row for row in inside if row["label"] in bases]
        for row in inside:
            if row["label"] in bases or not base:
                continue
            ratios[row["label"]].append(base_log(base, row["order"], metric) - math.log(row[metric]))
    return dict(ratios)


def base_log(bases: Sequence[Row], order: int, metric: str) -> float:
    """Logarithm of the base's metric at a place in the order, between its neighbours or that of the only neighbour."""
    before = next((base for base in reversed(bases) if base["order"] < order), None)
    after = next((base for base in bases if base["order"] > order), None)
    if before is None or after is None:
        return math.log((before or after)[metric])
    share = (order - before["order"]) / (after["order"] - before["order"])
    return (1 - share) * math.log(before[metric]) + share * math.log(after[metric])
