"""The prefill chunk where prompts are long enough for it to bind: what a small and a large one serve beside the base's."""

from __future__ import annotations

import numpy as np

from workflow.derive.facts.beside import detectable_of, logs_beside, mean_ratio, scatter
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

KNOB, REGIME, BASE = "chunked_prefill_size", "@bind", "base@bind"
SIDES = ("small", "large")


def settings(read) -> list[str]:
    """Labels of the chunks that were tried in the regime, the smallest chunk first."""
    rows = read.points("search", stage="knobs")
    rows = rows.where_true(np.array([label.startswith(f"{KNOB}=") and label.endswith(REGIME) for label in rows.texts("label")]))
    if not len(rows):
        raise Missing("the search tried no prefill chunk under a load where it can bind")
    found = {size: label for size, label in sorted(zip(rows.read(KNOB), rows.texts("label")))}
    if len(found) < 2:
        raise Missing("the search tried one prefill chunk under a load where it can bind")
    return list(found.values())


def cells(read, side: str) -> Rows:
    """Cells of one chunk of the regime; `base`: those of the base that was alive beside the small one."""
    named = settings(read)
    small = read.points("search", stage="knobs", label=named[0])
    if side != "base":
        return small if side == "small" else read.points("search", stage="knobs", label=named[-1])
    beside, rows = set(small.texts("boot")), read.points("search", stage="knobs", label=BASE)
    return rows.where_true(np.array([boot in beside for boot in rows.texts("boot")]))


def whole(rows: Rows, column: str) -> int:
    return rows.whole(column, "cells of one prefill chunk")


@fact("knobs.chunk.isl", kind="count", unit="token")
def isl(read):
    """prompt tokens of each request in the cells that compare prefill chunks"""
    return Sample(whole(cells(read, "small"), "isl"), "token")


@fact("knobs.chunk.{side}.size", kind="count", unit="token", side=(*SIDES, "base"))
def size(read, side):
    """tokens of the prefill chunk: the smallest and the largest that were tried, and the base's"""
    return Sample(whole(cells(read, side), KNOB), "token")


def logs_of(read, side: str) -> tuple[Rows, np.ndarray]:
    """Cells of one chunk, and ln(output throughput with it / with the base's) of each [cells], both of one boot's block."""
    rows = cells(read, side)
    return rows, logs_beside(rows, cells(read, "base"), "knobs")


def groups(read) -> list[np.ndarray]:
    """Log ratios of each chunk."""
    return [logs_of(read, side)[1] for side in SIDES]


@fact("knobs.chunk.{side}.ratio", kind="ratio", side=SIDES)
def ratio(read, side):
    """output throughput with this chunk / with the base's, exp of the mean logarithm, paired by boot; its interval is Student's t over the pairs"""
    return mean_ratio(read, *logs_of(read, side), scatter(read, groups(read)))


@fact("knobs.chunk.detectable", kind="percent", unit="percent")
def detectable(read):
    """how far such a ratio may be off: t x standard error over its boots, whose spread is pooled over the chunks and no less than the A/A pairs'"""
    return detectable_of(read, groups(read))
