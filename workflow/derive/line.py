"""A straight line through points, by least squares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

LEAST_POINTS = 3
"""Through two any line goes."""


def through(at: Sequence[float], found: Sequence[Sample], what: str) -> tuple[Sample, Sample]:
    """(value at zero, slope) of the line through `found` at the places `at`, each point the same weight, in the unit of the first.

    `what` names the places in the reason of `Missing`: fewer than three different ones hold no line.
    """
    if len(set(at)) < LEAST_POINTS:
        raise Missing(f"fewer than three different numbers of {what}: no line can be held against them")
    places, unit = np.asarray(at, dtype=float), found[0].unit
    values = np.array([one.to(unit).values for one in found])
    off = places - places.mean()
    slope = off @ values / (off @ off)
    return Sample(values.mean(axis=0) - slope * places.mean(), unit), Sample(slope, unit)
