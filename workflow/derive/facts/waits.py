"""Why the head of the queue waited, lane by lane, where both lanes ran under the same loads: steps counted by the scheduler, by cause."""

from __future__ import annotations

from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

CAUSES = ("cap", "state_slots", "kv_pages", "prefill_budget", "new_token_reserve")
SWEEPS = ("concurrency", "rate")
"""Sweeps that put both lanes under the same loads: so many at once, and arrivals on a timetable."""
WALL = {"plain": ("kv_pages", "new_token_reserve"), "dspark": ("state_slots", "cap")}
"""Lane -> what it waits for where the lanes run into opposite walls. The reserve is that of KV pages for tokens still to come."""


def steps(read, lane: str, causes=CAUSES) -> Sample:
    """Steps whose queue waited for one of these causes, over the sweeps that say so."""
    found, reason = [], "no sweep counted why requests wait"
    for sweep in SWEEPS:
        try:
            rows = read.points(sweep, lane=lane)
            found += [rows.sum(f"blocked_by_{cause}") for cause in causes]
        except Missing as error:
            reason = str(error)
    if not found:
        raise Missing(reason)
    return sum(found[1:], found[0])


@fact("walls.{lane}.waits", kind="count", lane=DECLARED["lane"])
def waits(read, lane):
    """steps in which a request waited to be admitted, in the sweeps that ran both lanes under the same loads"""
    return round(steps(read, lane).value)


def share(read, lane: str, causes) -> Sample:
    """Share of the steps with a request waiting in which the first of the queue waited for one of these causes."""
    if not read[f"walls.{lane}.waits"].value:
        raise Missing(f"no request of lane {lane} waited in the sweeps that ran both lanes")
    return (steps(read, lane, causes) / steps(read, lane)).to("percent")


@fact("walls.{lane}.queue_cause", kind="label", lane=DECLARED["lane"])
def cause(read, lane):
    """cause that the first of the queue waited for in most of the steps with a request waiting"""
    return max(CAUSES, key=lambda name: share(read, lane, (name,)).value)


@fact("walls.{lane}.queue_share", kind="percent", unit="percent", lane=DECLARED["lane"])
def cause_share(read, lane):
    """steps in which the first of the queue waited for that cause / steps with a request waiting"""
    return share(read, lane, (read.label(f"walls.{lane}.queue_cause"),))


@fact("walls.{lane}.wall_share", kind="percent", unit="percent", lane=DECLARED["lane"])
def wall_share(read, lane):
    """steps in which it waited for the wall of its lane (plain: KV pages or their reserve; DSpark: state slots or the cap) / steps with a request waiting"""
    return share(read, lane, WALL[lane])
