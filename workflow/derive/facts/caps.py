"""Request caps side by side at one block size: whether the default serves as much as any, and whether a full state pool says more than that the cap was reached."""

from __future__ import annotations

import numpy as np

from workflow.derive.facts.beside import detectable_of, logs_beside, mean_ratio, scatter
from workflow.derive.facts.walls import CAPS, capped, caps, one_cap, whole
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows

FULL = 1 - 1e-9
"""Share of a pool that counts as all of it."""


@fact("walls.cap.default", kind="count")
def default(read):
    """requests that the search's base admits at once"""
    return whole(read.points("search", stage=("window", "confirm"), label="base"), "effective_max_running_requests")


def others(read) -> list[int]:
    """Places of the caps beside the default one, from the lowest up."""
    found, own = caps(read), str(round(read["walls.cap.default"].value))
    if own not in found:
        raise Missing(f"the default cap, {own}, is not among the {len(found)} that were tried")
    if len(found) < 2:
        raise Missing("the search tried one request cap at the block size of its base")
    return [place for place, cap in enumerate(found, start=1) if cap != own]


def logs_of(read, place: int) -> tuple[Rows, np.ndarray]:
    """Cells of one cap, and ln(output throughput under the default cap / under it) of each [cells], both of one boot's block."""
    if place not in others(read):
        raise Missing("this is the default cap, or no cap at all")
    base, rows = capped(read, effective_max_running_requests=str(round(read["walls.cap.default"].value))), one_cap(read, place)
    return rows, -logs_beside(rows, base, "factorial")


def groups(read) -> list[np.ndarray]:
    """Log ratios of each cap beside the default one."""
    return [logs_of(read, place)[1] for place in others(read)]


@fact("walls.cap.t{place}.ratio", kind="ratio", place=CAPS)
def ratio(read, place):
    """output throughput under the default cap / under this one, exp of the mean logarithm, paired by boot; its interval is Student's t over the pairs"""
    return mean_ratio(read, *logs_of(read, place), scatter(read, groups(read)))


def ratios(read) -> dict[str, int]:
    """Key of the ratio -> place, of every cap beside the default one."""
    return {f"walls.cap.t{place}.ratio": place for place in others(read)}


@fact("walls.cap.rival.cap", kind="count")
def rival(read):
    """of the other caps, the one under which most is served"""
    found = ratios(read)
    return whole(one_cap(read, found[min(found, key=lambda key: read[key].value)]), "effective_max_running_requests")


@fact("walls.cap.rival.ratio", kind="ratio")
def rival_ratio(read):
    """output throughput under the default cap / under that other cap"""
    return read[min(ratios(read), key=lambda key: read[key].value)]


@fact("walls.cap.detectable", kind="percent", unit="percent")
def detectable(read):
    """how far such a ratio may be off: t x standard error over its boots, whose spread is pooled over the caps and no less than the A/A pairs'"""
    return detectable_of(read, groups(read))


def reached(read) -> list[Rows]:
    """Cells of each cap that the load could fill."""
    every = [one_cap(read, place) for place in range(1, len(caps(read)) + 1)]
    return [rows for rows in every if whole(rows, "max_concurrency") >= whole(rows, "effective_max_running_requests")]


@fact("walls.cap.reached", kind="count")
def reached_count(read):
    """request caps that were tried under at least as many requests in flight"""
    return len(reached(read))


@fact("walls.cap.full", kind="count")
def full(read):
    """of these caps, those with slots in proportion to the cap, all of them in use"""
    sizes = [(whole(rows, "state_slots"), whole(rows, "effective_max_running_requests"), rows.read("state_usage_max")) for rows in reached(read)]
    return sum(slots * sizes[0][1] == cap * sizes[0][0] and min(used) >= FULL for slots, cap, used in sizes)
