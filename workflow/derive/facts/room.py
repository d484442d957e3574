"""What a single setting takes: pools sized by one budget, the same wave of long prompts, beside the base of its boots' block and of its mode.

Headroom is what is left of the budget while the wave is served: free after the boot, less the largest transient use since.
"""

from __future__ import annotations

import math

import numpy as np

from workflow.derive.facts.beside import mean_drawn
from workflow.derive.facts.coverage import ENDED
from workflow.derive.facts.knobs import TRIES
from workflow.derive.paired import Paired, pooled
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

STAGE, BASE = "capacity", "base"
BOOTS = "boots of the capacity sweep"
GRAPH = "/graph"
"""What the sweep appends to the label of a setting of captured graphs, and to that of the base beside it."""


def settings(read, **status) -> list[str]:
    """Labels of the settings that the sweep served, or asked for, in the order of measuring."""
    labels = dict.fromkeys(read.points(STAGE, stage=STAGE, **status).texts("label"))
    return [label for label in labels if label.removesuffix(GRAPH) != BASE]


def setting(read, place: int) -> str:
    found = settings(read)
    if place > len(found):
        raise Missing(f"the capacity sweep served {len(found)} settings")
    return found[place - 1]


def arms(read, place: int) -> tuple[Rows, Rows]:
    """Cells of one setting, and those of the base in the same execution mode."""
    label = setting(read, place)
    beside = BASE + GRAPH if label.endswith(GRAPH) else BASE
    return read.points(STAGE, stage=STAGE, label=label), read.points(STAGE, stage=STAGE, label=beside)


def left(rows: Rows) -> np.ndarray:
    """Bytes left at the wave's peak [cells]."""
    return rows.read("available_mem_bytes") - rows.read("activation_peak_bytes")


def freed(read, place: int) -> tuple[Rows, np.ndarray]:
    """Cells of one setting that have the base beside them, and bytes left with it - with the base [cells]."""
    rows, base = arms(read, place)
    beside = dict(zip(base.texts("boot"), left(base)))
    rows = rows.where_true(np.array([boot in beside for boot in rows.texts("boot")]))
    if not len(rows):
        raise Missing("the base has no cell beside that of this setting")
    return rows, left(rows) - np.array([beside[boot] for boot in rows.texts("boot")])


def in_bytes(size: Sample) -> Sample:
    """Bytes are whole, means of them are not."""
    return Sample(np.rint(size.to("byte").values), "byte")


@fact("knobs.room.budget", kind="bytes", unit="byte")
def budget(read):
    """memory that weights, pools and activations share in the capacity sweep"""
    found = set(read.points(STAGE, stage=STAGE).texts("device_memory_bytes"))
    if len(found) != 1 or "" in found:
        raise Missing("the boots of the capacity sweep do not state one memory budget")
    return Sample(float(found.pop()), "byte")


@fact("knobs.room.isl", kind="count", unit="token")
def isl(read):
    """tokens of each prompt of the wave"""
    return Sample(read.points(STAGE, stage=STAGE).whole("isl", BOOTS), "token")


@fact("knobs.room.base_tokens", kind="count")
def base_tokens(read):
    """KV tokens that the pools of the base hold"""
    return read.points(STAGE, stage=STAGE, label=BASE).whole("max_total_num_tokens", BOOTS)


@fact("knobs.room.base_left", kind="bytes", unit="byte")
def base_left(read):
    """free after the boot - largest transient use under the wave, with the base, mean over its boots"""
    rows = read.points(STAGE, stage=STAGE, label=BASE)
    return in_bytes(rows.mean("available_mem_bytes") - rows.mean("activation_peak_bytes"))


@fact("knobs.room.t{place}.label", kind="label", place=TRIES)
def label(read, place):
    """setting of one place"""
    return setting(read, place).removesuffix(GRAPH)


@fact("knobs.room.t{place}.tokens", kind="percent", unit="percent", place=TRIES)
def tokens(read, place):
    """KV tokens that the pools hold with the setting / with the base - 1"""
    rows, base = arms(read, place)
    return rows.mean("max_total_num_tokens") / base.mean("max_total_num_tokens") - 1


@fact("knobs.room.t{place}.headroom", kind="bytes", unit="byte", place=TRIES)
def headroom(read, place):
    """bytes left at the wave's peak with the setting - with the base, mean over the blocks of boots"""
    return in_bytes(Sample(mean_drawn(*freed(read, place)).values, "byte"))


def present(read, what: str) -> list[str]:
    """Keys of one quantity, of the settings that have it."""
    return read.present(f"knobs.room.t{place}.{what}" for place in TRIES[: len(settings(read))])


def extreme(read, what: str, measure) -> str:
    """Key of the setting with the largest `measure` of its value."""
    return max(present(read, what), key=lambda key: measure(read[key].value))


@fact("knobs.room.asked", kind="count")
def asked(read):
    """settings that the sweep booted, served or not"""
    return len(settings(read, status=ENDED))


@fact("knobs.room.tried", kind="count")
def tried(read):
    """settings that served the wave"""
    return len(settings(read))


@fact("knobs.room.takers", kind="count")
def takers(read):
    """of them, settings whose pools hold fewer KV tokens than the base's"""
    return sum(read[key].value < 0 for key in present(read, "tokens"))


@fact("knobs.room.fewest", kind="label")
def fewest(read):
    """setting whose pools hold the fewest KV tokens, against its base"""
    return read.label(extreme(read, "tokens", lambda value: -value).replace(".tokens", ".label"))


@fact("knobs.room.fewest_tokens", kind="percent", unit="percent")
def fewest_tokens(read):
    """KV tokens with that setting / with the base - 1"""
    return read[extreme(read, "tokens", lambda value: -value)]


@fact("knobs.room.farthest", kind="label")
def farthest(read):
    """setting whose memory left at the wave's peak differs most from its base's"""
    return read.label(extreme(read, "headroom", abs).replace(".headroom", ".label"))


@fact("knobs.room.farthest_headroom", kind="bytes", unit="byte")
def farthest_headroom(read):
    """bytes left with that setting - with its base"""
    return read[extreme(read, "headroom", abs)]


def scatter(read) -> tuple[float, int]:
    """Spread of the difference of two boots and its degrees of freedom: pooled within the arms, since the settings share their base."""
    rows, found = read.points(STAGE, stage=STAGE), {}
    for name, size in zip(rows.texts("label"), left(rows)):
        found.setdefault(name, []).append(size)
    within, freedom = pooled(list(found.values()))
    return math.sqrt(2) * within, freedom


@fact("knobs.room.detectable", kind="bytes", unit="byte")
def detectable(read):
    """how far the largest of the differences in memory left may be off: t x standard error, the level shared among the settings (Bonferroni)"""
    found = present(read, "headroom")
    places = [int(key.split(".")[2].removeprefix("t")) for key in found]
    pairs = Paired.of(min((freed(read, place)[1] for place in places), key=len), scatter(read))
    if not pairs.known:
        raise Missing("one boot of each setting: nothing says how far the memory left may be off")
    return in_bytes(Sample(pairs.reach(1 - (1 - read.derivation.level) / len(found)), "byte"))
