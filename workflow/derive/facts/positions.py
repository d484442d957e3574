"""The batch sweep: what a step costs by the positions in it, requests in flight times the verify window.

Only full steps count, those in which as many requests run as the level asks for; `w1` is plain decoding, whose window is one position.
"""

from __future__ import annotations

import numpy as np

from workflow.derive.line import through
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

STAGE = "batch"
CLOCKS = {"verify_ms": "target's forward", "step_ms": "whole step, drafting included"}


def full_steps(read, width: int, level: int):
    lane = {"lane": "plain"} if width == 1 else {"lane": "dspark", "block_size": width - 1}
    return read.steps(STAGE, **lane, max_concurrency=level, running=level, kind=("decode", "round"))


@fact("positions.w{width}.c{level}.{clock}", kind="duration", unit="ms/step", clock=tuple(CLOCKS))
def clock_of(read, width, level, clock):
    """mean over the full steps at one window and level; verify_ms is the target's forward, step_ms the whole step"""
    rows = full_steps(read, width, level)
    return rows.sum(clock) / rows.count("step")


@fact("positions.w{width}.c{level}.count", kind="count")
def count(read, width, level):
    """positions of such a step: requests in flight x window"""
    found = set(full_steps(read, width, level).texts("positions"))
    if len(found) > 1:
        raise Missing(f"full steps of {level} requests have {len(found)} different numbers of positions")
    return int(found.pop())


def cells(read) -> list[str]:
    """Key prefixes of the cells that were measured."""
    domains = read.derivation.domains
    found = [f"positions.w{width}.c{level}" for width in domains["width"] for level in domains["level"]]
    found = [prefix for prefix in found if read.has(f"{prefix}.verify_ms") and read.has(f"{prefix}.count")]
    if not found:
        raise Missing("the batch sweep, requests in flight times the verify window, is not part of this campaign")
    return found


def by_positions(read) -> dict[int, list[str]]:
    """Positions -> the cells that have so many, from the fewest on."""
    groups: dict[int, list[str]] = {}
    for prefix in cells(read):
        groups.setdefault(round(read[f"{prefix}.count"].value), []).append(prefix)
    return dict(sorted(groups.items()))


def shared(read) -> list[list[str]]:
    """Cells with equal positions from different windows, a group each."""
    found = [group for group in by_positions(read).values() if len(group) > 1]
    if not found:
        raise Missing("no two windows of the batch sweep meet at equal positions")
    return found


@fact("positions.cells", kind="count")
def how_many(read):
    """cells, windows times levels, with full steps"""
    return len(cells(read))


@fact("positions.{end}", kind="count", end=("least", "most"))
def extreme(read, end):
    """fewest or most positions of a full step"""
    return (min if end == "least" else max)(by_positions(read))


@fact("positions.{end}_ms", kind="duration", unit="ms/step", end=("least", "most"))
def extreme_ms(read, end):
    """target's forward over the fewest or the most positions"""
    return read[f"{by_positions(read)[round(read[f'positions.{end}'].value)][0]}.verify_ms"]


@fact("positions.multiple", kind="ratio")
def multiple(read):
    """most positions / fewest"""
    return read["positions.most"] / read["positions.least"]


@fact("positions.growth", kind="ratio")
def growth(read):
    """forward over the most positions / over the fewest"""
    return read["positions.most_ms"] / read["positions.least_ms"]


def line(read) -> tuple[Sample, Sample]:
    """(floor, slope) of the least-squares line through the cells, each the same weight."""
    prefixes = cells(read)
    return through([read[f"{prefix}.count"].value for prefix in prefixes], [read[f"{prefix}.verify_ms"] for prefix in prefixes], "positions")


@fact("positions.floor_ms", kind="duration", unit="ms/step", status="computed")
def floor(read):
    """where the least-squares line through the cells meets no position: what a forward costs before its first"""
    return line(read)[0]


@fact("positions.slope_ms", kind="duration", unit="ms/step", status="computed")
def slope(read):
    """slope of that line: what one more position adds to a forward"""
    return line(read)[1]


@fact("positions.off_line", kind="percent", unit="percent", status="computed")
def off_line(read):
    """largest |forward / line - 1| over the cells"""
    from_line = []
    for prefix in cells(read):
        fitted = read["positions.floor_ms"] + read["positions.slope_ms"] * read[f"{prefix}.count"]
        from_line.append(abs((read[f"{prefix}.verify_ms"] / fitted - 1).number()))
    return Sample(np.max(from_line, axis=0))


@fact("positions.meetings", kind="count")
def meetings(read):
    """numbers of positions that more than one window reached"""
    return len(shared(read))


@fact("positions.apart", kind="percent", unit="percent")
def apart(read):
    """largest difference between forwards over equal positions: slowest / fastest - 1 of a group"""
    return Sample(np.max([spread(read, group).number() - 1 for group in shared(read)], axis=0))


def spread(read, group: list[str]) -> Sample:
    """Slowest / fastest forward of a group of cells."""
    times = np.array([read[f"{prefix}.verify_ms"].values for prefix in group])
    return Sample(times.max(axis=0) / times.min(axis=0))
