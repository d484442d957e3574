"""What a stage of the search can resolve: planned from the A/A pairs before it runs, achieved with the spread it had.

Both are about the quantity that the stage compares: the spread of time per token says nothing of how far throughputs differ by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engine.bench.compare import Spread, detectable_ratio
from engine.bench.verdicts import TIME, pair_values
from engine.csvio import Row

RATE = "output_throughput"
BY_RATE = ("cache", "knobs", "factorial", "lanes", "curve")
"""Stages that compare throughputs; the others compare times per token."""


def compared(stage: str) -> str:
    """Column of the points that a stage compares."""
    return RATE if stage in BY_RATE else TIME


def aa_logs(points: Sequence[Row], stage: str) -> list[float]:
    """One log ratio a pair of A/A boots, of the metric that a stage compares and over as many passes of each boot.

    Only the confirmation means over the passes of its boots as the A/A pairs do; a mean of two scatters less than one cell.
    """
    return logs_of(points, compared(stage), None if stage == "confirm" else 1)


def logs_of(points: Sequence[Row], metric: str, passes: int | None = 1) -> list[float]:
    """One log ratio a pair of A/A boots in a column of the points, over the first `passes` of each boot, all of them where None."""
    return [math.log(b / a) for _, _, a, b in pair_values(points, "aa", ("base-a", "base-b"), metric, passes).values()]


def planned(points: Sequence[Row], boots: Mapping[str, int]) -> dict[str, float]:
    """Stage -> ratio that it can resolve at best with so many boots, at the A/A spread of what it compares; left out where that is unknown.

    `boots`: stage -> boots behind each of its comparisons.
    """
    found = {stage: detectable_ratio(Spread.pooled([aa_logs(points, stage)]), count) for stage, count in boots.items()}
    return {stage: ratio for stage, ratio in found.items() if ratio is not None}


def worst(comparisons: Sequence[dict]) -> float | None:
    """Ratio that every comparison of a stage could resolve; None where one of them knew no spread. What no boot served was not compared."""
    found = [one["minimum_detectable"] for one in comparisons if one["n"]]
    return max(found) if found and None not in found else None


def planned_line(stage: str, ratio: float) -> str:
    return f"{stage}: differences of {compared(stage)} below {percent(ratio)} cannot be resolved with what is planned"


def achieved_line(stage: str, ratio: float, before: float | None) -> str:
    """The achieved figure with the planned one beside it."""
    beside = "" if before is None else f" ({percent(before)} was planned)"
    return f"{stage}: differences of {compared(stage)} from {percent(ratio)} could be resolved{beside}"


def percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.1f} %"
