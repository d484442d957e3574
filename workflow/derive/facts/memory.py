"""The memory ceiling: fractions of a budget tried with a hostile wave each, and what the first boot foretold about the others.

A fraction counts as tried when its engine booted and took the wave. The first boot, at the anchor, gives two predictions of the largest
fraction that serves: the static floor (whatever was free after the boot may become pools) and the floor less the activation peak that the
anchor's own wave showed. Both are then held against fractions that had no part in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

SURVIVED, RAN_OUT, OTHERWISE = "survived", "ran-out", "ended-otherwise"
ENDED = ("ok", "oom", "crash", "timeout")
BOOTED = ("mem_fraction_static", "available_mem_bytes")
"""Columns that a row of a boot fills."""
ATTEMPTS = tuple(range(1, 9))


@dataclass(frozen=True)
class Attempt:
    """One fraction of the device's memory given to the static pools. Bytes are null where the boot or the wave did not say."""

    anchor: bool
    fraction: float
    outcome: str
    free: float | None
    peak: float | None


def tries(read, lane: str) -> Rows:
    """Rows of the fractions that booted in one lane, in the order of measuring."""
    rows = read.points("search", stage="memory", lane=lane, status=ENDED)
    rows = rows.where_true(np.array([bool(fraction and free) for fraction, free in zip(*(rows.texts(name) for name in BOOTED))]))
    if not len(rows):
        raise Missing(f"no fraction of lane {lane} was booted")
    return rows


def attempts(read, lane: str) -> list[Attempt]:
    """The fractions tried in one lane, in the order of measuring."""
    rows = tries(read, lane)
    found = []
    for label, status, failed, peak, fraction, free in zip(*(rows.texts(name) for name in ("label", "status", "failed", "activation_peak_bytes", *BOOTED))):
        lost = status == "ok" and float(failed or 0) > 0
        outcome = RAN_OUT if status == "oom" or lost else SURVIVED if status == "ok" else OTHERWISE
        found.append(Attempt(label.endswith("-anchor"), float(fraction), outcome, float(free), float(peak) if peak else None))
    return found


def anchor(read, lane: str) -> Attempt:
    for one in attempts(read, lane):
        if one.anchor:
            return one
    raise Missing(f"the anchor of lane {lane} did not boot")


def attempt_at(read, lane: str, attempt: int) -> Attempt:
    found = attempts(read, lane)
    if attempt > len(found):
        raise Missing(f"{len(found)} fractions were tried in lane {lane}")
    return found[attempt - 1]


def share(value: float) -> Sample:
    return Sample(100.0 * value, "percent")


@fact("memory.step", kind="points", unit="percent")
def step(read):
    """grid of the fractions that the search tried"""
    return share(read.manifest("config.memory.step", "search"))


@fact("memory.{lane}.t{attempt}.fraction", kind="percent", unit="percent", attempt=ATTEMPTS)
def fraction(read, lane, attempt):
    """share of the budget that one try gave to weights and pools"""
    return share(attempt_at(read, lane, attempt).fraction)


@fact("memory.{lane}.t{attempt}.outcome", kind="label", attempt=ATTEMPTS)
def outcome(read, lane, attempt):
    """how the hostile wave ended in one try"""
    return attempt_at(read, lane, attempt).outcome


@fact("memory.{lane}.t{attempt}.free", kind="bytes", unit="byte", attempt=ATTEMPTS)
def free(read, lane, attempt):
    """memory left after the boot of one try"""
    return Sample(attempt_at(read, lane, attempt).free, "byte")


def lanes(read) -> dict[str, list[Attempt]]:
    """Lane -> its tries, of the lanes that were tried."""
    found = {}
    table = read.campaign.find("points", "search")
    for lane in DECLARED["lane"] if table is not None else ():
        if len(table.select({"stage": "memory", "lane": lane, "status": ENDED})):
            found[lane] = attempts(read, lane)
    if not found:
        raise Missing("the search of this campaign has no memory stage")
    return found


@fact("memory.device_bytes", kind="bytes", unit="byte")
def device_bytes(read):
    """memory budget of the tries"""
    lanes(read)
    found = set(read.points("search", stage="memory", status=ENDED).texts("device_memory_bytes"))
    if len(found) != 1 or "" in found:
        raise Missing("the tries do not state one memory budget")
    return Sample(float(found.pop()), "byte")


@fact("memory.{count}", kind="count", count=("tried", "survived", "ran_out", "otherwise"))
def counts(read, count):
    """fractions that booted and took the wave, both lanes, by how the wave ended"""
    ended = {"survived": SURVIVED, "ran_out": RAN_OUT, "otherwise": OTHERWISE}
    return sum(count == "tried" or one.outcome == ended[count] for found in lanes(read).values() for one in found)


@fact("memory.{lane}.anchor", kind="percent", unit="percent")
def anchor_fraction(read, lane):
    """share of the budget at the first boot"""
    return share(anchor(read, lane).fraction)


@fact("memory.{lane}.anchor_free", kind="bytes", unit="byte")
def anchor_free(read, lane):
    """memory left after the first boot"""
    return Sample(anchor(read, lane).free, "byte")


@fact("memory.{lane}.anchor_peak", kind="bytes", unit="byte")
def anchor_peak(read, lane):
    """largest transient use while the first boot served the wave to its end"""
    one = anchor(read, lane)
    if one.outcome != SURVIVED or one.peak is None:
        raise Missing(f"the wave at the anchor of lane {lane} did not run to its end, so its peak was not seen")
    return Sample(one.peak, "byte")


@fact("memory.{lane}.floor", kind="percent", unit="percent", status="computed")
def floor(read, lane):
    """anchor + memory left after its boot / budget"""
    return read[f"memory.{lane}.anchor"] + read[f"memory.{lane}.anchor_free"] / read["memory.device_bytes"]


@fact("memory.{lane}.floor_less_peak", kind="percent", unit="percent", status="computed")
def floor_less_peak(read, lane):
    """anchor + (memory left after its boot - activation peak of its wave) / budget"""
    room = read[f"memory.{lane}.anchor_free"] - read[f"memory.{lane}.anchor_peak"]
    return read[f"memory.{lane}.anchor"] + room / read["memory.device_bytes"]


@fact("memory.{lane}.largest_survived", kind="percent", unit="percent")
def largest_survived(read, lane):
    """largest share of the budget whose wave ran to its end"""
    served = [one.fraction for one in attempts(read, lane) if one.outcome == SURVIVED]
    if not served:
        raise Missing(f"no fraction tried in lane {lane} survived its wave")
    return share(max(served))


@fact("memory.{lane}.smallest_ran_out", kind="percent", unit="percent")
def smallest_ran_out(read, lane):
    """smallest share of the budget whose wave ran out of memory"""
    failed = [one.fraction for one in attempts(read, lane) if one.outcome == RAN_OUT]
    if not failed:
        raise Missing(f"no fraction tried in lane {lane} ran out of memory")
    return share(min(failed))


def settled(read, lane: str) -> Attempt:
    """The try with the largest share of the budget whose wave ran to its end."""
    limit = read[f"memory.{lane}.largest_survived"].value
    return next(one for one in attempts(read, lane) if one.outcome == SURVIVED and math.isclose(100 * one.fraction, limit))


@fact("memory.{lane}.boot_share", kind="percent", unit="percent")
def boot_share(read, lane):
    """1 - memory left after the boot / budget, at the largest share whose wave ran to its end: weights and pools"""
    return share(1 - settled(read, lane).free / read["memory.device_bytes"].value)


@fact("memory.{lane}.peak_share", kind="percent", unit="percent")
def peak_share(read, lane):
    """largest transient use of that wave / budget"""
    one = settled(read, lane)
    if one.peak is None:
        raise Missing(f"the wave at the largest share that served in lane {lane} did not say its peak")
    return share(one.peak / read["memory.device_bytes"].value)


def foretold(read, rule: str) -> list[tuple[bool, bool]]:
    """(foretold to survive, survived) of every try beyond the anchors, in the lanes that have the prediction."""
    pairs = []
    for lane, found in lanes(read).items():
        if read.has(key := f"memory.{lane}.{rule}"):
            limit = read[key].value
            pairs += [(100 * one.fraction <= limit + 1e-9, one.outcome == SURVIVED) for one in found if not one.anchor and one.outcome != OTHERWISE]
    return pairs


@fact("memory.{rule}.tested", kind="count", rule=("floor", "floor_less_peak"))
def tested(read, rule):
    """tries beyond the anchors that a prediction says something about"""
    return len(foretold(read, rule))


@fact("memory.{rule}.agreed", kind="count", rule=("floor", "floor_less_peak"))
def agreed(read, rule):
    """of them, tries that ended as foretold"""
    return sum(said == did for said, did in foretold(read, rule))


@fact("memory.{rule}.let_down", kind="count", rule=("floor", "floor_less_peak"))
def let_down(read, rule):
    """of them, tries that were foretold to survive and ran out of memory"""
    return sum(said and not did for said, did in foretold(read, rule))


@fact("memory.floor_less_peak.steps_off", kind="count")
def steps_off(read):
    """most grid steps by which the prediction, rounded down to the grid, lies beside a try beyond the anchors: below what survived, or up to what did not"""
    grid, off = read["memory.step"].value, [0]
    for lane, found in lanes(read).items():
        if read.has(key := f"memory.{lane}.floor_less_peak"):
            limit = math.floor(read[key].value / grid + 1e-9)
            for one in found:
                place = round(100 * one.fraction / grid)
                if not one.anchor and one.outcome != OTHERWISE:
                    off.append(place - limit if one.outcome == SURVIVED else limit - place + 1)
    return max(off)
