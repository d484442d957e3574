"""What an allocation that did not fit had asked for, and what was free when its failure was reported, try by try of the memory stage."""

from __future__ import annotations

import numpy as np

from workflow.derive.facts.memory import ATTEMPTS, RAN_OUT, attempt_at, attempts, lanes, tries
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

COLUMN = {"asked": "oom_asked_bytes", "free_at_fault": "oom_free_bytes"}
SAID = tuple(COLUMN)


@fact("memory.{lane}.t{attempt}.{said}", kind="bytes", unit="byte", attempt=ATTEMPTS, said=SAID)
def fault(read, lane, attempt, said):
    """what the allocation that failed in one try had asked for, or what was free when that was reported"""
    if attempt_at(read, lane, attempt).outcome != RAN_OUT:
        raise Missing(f"that try of lane {lane} did not run out of memory")
    rows = tries(read, lane)
    return Sample(float(rows.where_true(np.arange(len(rows)) == attempt - 1).read(COLUMN[said])[0]), "byte")


def failed(read, lane: str) -> dict[int, float]:
    """Place of a try that ran out of memory -> its share of the budget."""
    return {place: one.fraction for place, one in enumerate(attempts(read, lane), start=1) if one.outcome == RAN_OUT and place in ATTEMPTS}


@fact("memory.{lane}.fault.{said}", kind="bytes", unit="byte", said=SAID)
def nearest(read, lane, said):
    """the same of the try that ran out at the smallest share of the budget"""
    found = failed(read, lane)
    if not found:
        raise Missing(f"no fraction tried in lane {lane} ran out of memory")
    return read[f"memory.{lane}.t{min(found, key=lambda place: found[place])}.{said}"]


def told(read) -> list[tuple[float, float]]:
    """(asked, free) of every try that ran out and said both, in bytes."""
    keys = [[f"memory.{lane}.t{place}.{said}" for said in SAID] for lane in lanes(read) for place in failed(read, lane)]
    found = [pair for pair in keys if all(map(read.has, pair))]
    if keys and not found:
        raise Missing("the rows of the tries that ran out do not say what was asked for and what was free")
    return [(read[asked].value, read[free].value) for asked, free in found]


@fact("memory.faults.told", kind="count")
def told_count(read):
    """tries that ran out of memory and said what was asked for and what was free"""
    return len(told(read))


@fact("memory.faults.short", kind="count")
def short(read):
    """of these, tries in which more was asked for than was free"""
    return sum(asked > free for asked, free in told(read))
