"""How busy the machine was beside the measurement: load, time that others took on the measured processor, and how steady its speed stayed."""

from __future__ import annotations

import numpy as np

from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

PROBES = ("probe_copy", "probe_compute")
SIDES = ("before_ms", "after_ms")
STRAY = 90
"""Percentile of the probes that counts as how far the speed strayed: one cell in ten may be worse, and cells far off are repeated anyway."""


def watched(read) -> dict[str, Rows]:
    """Family -> its good rows whose cells recorded the load. Missing where no command recorded it."""
    found = {}
    for family in read.campaign.families:
        table = read.campaign.find("points", family)
        if "load_average" not in table.columns:
            continue
        try:
            rows = read.points(family, stage=tuple(table.distinct("stage")))
        except Missing:
            continue  # not one cell of this command finished
        seen = np.array([text != "" for text in rows.texts("load_average")])
        if seen.any():
            found[family] = rows.where_true(seen)
    if not found:
        raise Missing("no row of this campaign says how busy its machine was")
    return found


@fact("machine.watched", kind="count")
def commands_watched(read):
    """measuring commands whose rows say how busy the machine was"""
    return len(watched(read))


@fact("machine.unwatched", kind="count")
def commands_unwatched(read):
    """measuring commands whose rows do not say how busy the machine was"""
    return len(read.campaign.families) - len(watched(read))


@fact("machine.load_beyond", kind="length")
def load_beyond(read):
    """load average after a cell less the engine's own threads: median over the cells of a command, of the busiest command; not below 0"""
    medians = [float(np.median(rows.read("load_average") - rows.read("threads"))) for rows in watched(read).values()]
    return max(0.0, *medians)


@fact("machine.taken", kind="percent", unit="percent")
def taken(read):
    """(steal_share + other_share) of the pinned processor's time, of the command that lost most of it"""
    shares = []
    for family in read.campaign.commands:
        try:
            shares.append(read.manifest("machine.steal_share", family) + read.manifest("machine.other_share", family))
        except Missing:
            continue  # a command on several processors, or on a system that does not say
    if not shares:
        raise Missing("no manifest of this campaign says how much of the measured processor others took")
    return Sample(max(shares))


@fact("machine.probe_spread", kind="percent", unit="percent")
def probe_spread(read):
    """|ln(probe / median of its command)| of a fixed piece of work before and after each cell: 90th percentile, as a relative difference"""
    strays = []
    for rows in watched(read).values():
        for probe in PROBES:
            found = [float(text) for side in SIDES for text in _cells(rows, f"{probe}_{side}") if text]
            strays += list(np.abs(np.log(np.array(found) / np.median(found)))) if found else []
    if not strays:
        raise Missing("no row of this campaign has the probe of the machine's speed")
    return Sample(np.expm1(np.percentile(strays, STRAY)))


@fact("machine.drift", kind="percent", unit="percent")
def drift(read):
    """slowest / fastest sentinel - 1: one plain cell before and after the others of a command, step latency, of the command that drifted most"""
    drifts = []
    for family in read.campaign.families:
        if "sentinel" not in read.campaign.find("points", family).distinct("stage"):
            continue
        try:
            steps = read.points(family, stage="sentinel").read("step_ms")
        except Missing:
            continue  # not one of them finished, or the server does not say what a step took
        drifts += [steps.max() / steps.min() - 1] if len(steps) > 1 else []
    if not drifts:
        raise Missing("no command of this campaign measured one cell at its start and again at its end")
    return Sample(max(drifts))


def _cells(rows: Rows, column: str) -> list[str]:
    return rows.texts(column) if column in rows.table.columns else []
