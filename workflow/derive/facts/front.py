"""The lanes' frontier: throughput against time, each lane at the block size that suited it, at several numbers of requests in flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workflow.derive.facts import measures
from workflow.derive.facts.beside import mean_drawn
from workflow.derive.facts.compare import beyond_noise
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample, least

RATE = "output_throughput"
TIMES = {"tpot": "mean_tpot_ms", "ttft": "mean_ttft_ms"}
AGAINST = tuple(TIMES)
LANES = ("plain", "dspark", "dflash", "mtp", "lookup")
PLACES = tuple(range(1, 7))
"""Places of the loads, from the fewest requests in flight up."""
ENDS = {"fewest": 0, "most": -1}


def cells(read, **where) -> Rows:
    return read.points("search", stage="frontier", **where)


def loads(read) -> list[str]:
    """Requests in flight at which the lanes' best were measured, rising."""
    return sorted(set(cells(read).texts("max_concurrency")), key=int)


def load_at(read, place) -> str:
    """`place`: 1 for the fewest requests in flight, or the name of an end."""
    found = loads(read)
    if place in ENDS:
        return found[ENDS[place]]
    if place > len(found):
        raise Missing(f"the lanes' best were measured at {len(found)} loads")
    return found[place - 1]


def by_arm(rows: Rows) -> dict[tuple[str, str], Rows]:
    """(label, lane) -> the cells of one arm, a boot each."""
    labels, lanes = rows.texts("label"), rows.texts("lane")
    return {arm: rows.where_true(np.array([label == arm[0] for label in labels])) for arm in dict.fromkeys(zip(labels, lanes))}


def mean_of(rows: Rows, column: str) -> Sample:
    """Geometric mean over the boots, in the column's unit."""
    return Sample(mean_drawn(rows, np.log(rows.read(column))).exp().values, rows.unit(column))


def name_of(label: str, lane: str) -> str:
    """Lane and block size, as far as the label names one."""
    gamma = label.partition(f"{lane}-g")[2]
    return f"{lane} γ = {gamma}" if gamma else label


@dataclass(frozen=True)
class Arm:
    """One lane at one block size under one load: means over its boots, which pair with those of the arms beside it."""

    label: str
    lane: str
    rate: Sample
    time: Sample

    @property
    def name(self) -> str:
        return name_of(self.label, self.lane)

    def over(self, other: Arm) -> Sample:
        """The lesser of what it is ahead by in throughput and in time: above one, it is ahead in both."""
        return least([self.rate / other.rate, other.time / self.time])

    def dominates(self, read, other: Arm) -> bool:
        """Whether it is ahead in both by more than the noise."""
        return beyond_noise(read, self.rate / other.rate) > 0 and beyond_noise(read, other.time / self.time) > 0


def arms(read, place, against: str) -> list[Arm]:
    found = by_arm(cells(read, max_concurrency=load_at(read, place)))
    return [Arm(label, lane, mean_of(rows, RATE), mean_of(rows, TIMES[against])) for (label, lane), rows in found.items()]


def best(read, place: int, lane: str) -> tuple[str, Rows]:
    """(label, cells) of a lane at a load; of several block sizes with which it went on, the one that served more there."""
    found = by_arm(cells(read, lane=lane, max_concurrency=load_at(read, place)))
    (label, _), rows = max(found.items(), key=lambda arm: mean_of(arm[1], RATE).value)
    return label, rows


@fact("lanes.front.loads", kind="count")
def load_count(read):
    """numbers of requests in flight at which the lanes' best were measured"""
    return len(loads(read))


@fact("lanes.front.boots", kind="count")
def boots(read):
    """boots of the arm that has the fewest, at the load at which it does"""
    rows = cells(read)
    found: dict[tuple[str, str], set[str]] = {}
    for load, label, boot in zip(rows.texts("max_concurrency"), rows.texts("label"), rows.texts("boot")):
        found.setdefault((load, label), set()).add(boot)
    return min(map(len, found.values()))


@fact("lanes.front.t{place}.{lane}.arm", kind="label", place=PLACES, lane=LANES)
def arm_of(read, place, lane):
    """the lane with its block size; of several with which it went on, the one with the larger throughput at that load"""
    return name_of(best(read, place, lane)[0], lane)


def register(measure: str, column: str) -> None:
    def function(read, place, lane):
        return mean_of(best(read, place, lane)[1], column)

    formula = "geometric mean over the boots, at the block size with which the lane has the larger throughput at that load"
    measures.register(f"lanes.front.t{{place}}.{{lane}}.{measure}", measure, function, formula, place=PLACES, lane=LANES)


for name, of in {RATE: RATE, "tpot_ms": TIMES["tpot"], "ttft_ms": TIMES["ttft"]}.items():
    register(name, of)


@fact("lanes.front.{against}.tightest", kind="count", against=AGAINST)
def tightest(read, against):
    """requests in flight at the load at which the lane in front is ahead by the least"""
    keys = {f"lanes.front.t{place}.{against}.lead": place for place in PLACES}
    return int(load_at(read, keys[min(read.present(keys), key=lambda key: read[key].value)]))


for prefix, choices in (("t{place}", PLACES), ("{place}", tuple(ENDS))):

    @fact(f"lanes.front.{prefix}.concurrency", kind="count", place=choices)
    def concurrency(read, place):
        """requests in flight of one load"""
        return int(load_at(read, place))

    @fact(f"lanes.front.{prefix}.{{against}}.arms", kind="label", place=choices, against=AGAINST)
    def front(read, place, against):
        """arms that no other is ahead of in both throughput and time, beyond the noise, at that load"""
        every = arms(read, place, against)
        return ", ".join(arm.name for arm in every if not any(other.dominates(read, arm) for other in every if other is not arm))

    @fact(f"lanes.front.{prefix}.{{against}}.lead", kind="ratio", place=choices, against=AGAINST)
    def lead(read, place, against):
        """what the lane in front is ahead by of every other lane, the lesser of throughput and time: below one where no lane is ahead in both"""
        every = arms(read, place, against)
        rivals = {arm.label: [other for other in every if other.lane != arm.lane] for arm in every}
        if not all(rivals.values()):
            raise Missing("one lane only")
        leads = [least([arm.over(other) for other in rivals[arm.label]]) for arm in every]
        return max(leads, key=lambda sample: sample.value)
