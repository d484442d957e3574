"""What a single setting takes: pools sized by one budget, the same wave of prompts that fill a prefill chunk, beside the base of its boots' block.

Headroom is what is left of the budget while the wave is served: free after the boot, less the largest transient use since.
"""

from __future__ import annotations

import numpy as np

from workflow.derive.facts.beside import mean_drawn
from workflow.derive.facts.knobs import TRIES, setting, settings
from workflow.derive.paired import Paired, pooled
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

STAGE, BASE = "capacity", "base"
MODES = ("", "/graph")
"""What the sweep appends to a label: nothing, or the mode that a setting of captured graphs needs."""


def arms(read, attempt: int) -> tuple[Rows, Rows]:
    """Cells of one setting that the search tried, and those of the base in the same execution mode."""
    asked, served = setting(read, attempt), set(read.points(STAGE, stage=STAGE).texts("label"))
    for mode in MODES:
        if asked + mode in served:
            return read.points(STAGE, stage=STAGE, label=asked + mode), read.points(STAGE, stage=STAGE, label=BASE + mode)
    raise Missing(f"the capacity sweep served nothing under {asked}")


def left(rows: Rows) -> np.ndarray:
    """Bytes left at the wave's peak [cells]."""
    return rows.read("available_mem_bytes") - rows.read("activation_peak_bytes")


def freed(read, attempt: int) -> tuple[Rows, np.ndarray]:
    """Cells of one setting, and bytes left with it - with the base [cells], both of one block of boots."""
    rows, base = arms(read, attempt)
    beside = dict(zip(base.texts("boot"), left(base)))
    if lone := [boot for boot in rows.texts("boot") if boot not in beside]:
        raise Missing(f"stage {STAGE}, boot {lone[0]}: the base has no cell beside that of another setting")
    return rows, left(rows) - np.array([beside[boot] for boot in rows.texts("boot")])


def whole(size: Sample) -> Sample:
    """Bytes are whole, means of them are not."""
    return Sample(np.rint(size.values), size.unit)


def tried(read) -> list[int]:
    """Places of the settings that the sweep served."""
    found = [attempt for attempt in TRIES[: len(settings(read))] if read.has(f"knobs.t{attempt}.room.headroom")]
    if not found:
        raise Missing("the capacity sweep served none of the settings that the search tried")
    return found


@fact("knobs.room.budget", kind="bytes", unit="byte")
def budget(read):
    """memory that weights, pools and activations share in the capacity sweep"""
    found = set(read.points(STAGE, stage=STAGE).texts("device_memory_bytes"))
    if len(found) != 1 or "" in found:
        raise Missing("the boots of the capacity sweep do not state one memory budget")
    return Sample(float(found.pop()), "byte")


@fact("knobs.room.base_tokens", kind="count")
def base_tokens(read):
    """KV tokens that the pools of the base hold"""
    return read.points(STAGE, stage=STAGE, label=BASE).mean("max_total_num_tokens")


@fact("knobs.room.base_left", kind="bytes", unit="byte")
def base_left(read):
    """free after the boot - largest transient use under the wave, with the base, mean over its boots"""
    rows = read.points(STAGE, stage=STAGE, label=BASE)
    return whole(rows.mean("available_mem_bytes") - rows.mean("activation_peak_bytes"))


@fact("knobs.t{attempt}.room.tokens", kind="percent", unit="percent", attempt=TRIES)
def tokens(read, attempt):
    """KV tokens that the pools hold with the setting / with the base - 1"""
    rows, base = arms(read, attempt)
    return rows.mean("max_total_num_tokens") / base.mean("max_total_num_tokens") - 1


@fact("knobs.t{attempt}.room.running", kind="count", attempt=TRIES)
def running(read, attempt):
    """requests that may run at once with the setting"""
    return arms(read, attempt)[0].mean("effective_max_running_requests")


@fact("knobs.t{attempt}.room.headroom", kind="bytes", unit="byte", attempt=TRIES)
def headroom(read, attempt):
    """bytes left at the wave's peak with the setting - with the base, mean over the blocks of boots"""
    return whole(Sample(mean_drawn(*freed(read, attempt)).values, "byte"))


def scatter(read) -> tuple[float, int]:
    """Spread of such a difference and its degrees of freedom, pooled over the settings."""
    groups = []
    for attempt in TRIES[: len(settings(read))]:
        try:
            groups.append(freed(read, attempt)[1])
        except Missing:
            continue
    return pooled(groups)


def keys(read, what: str) -> list[str]:
    """Keys of one quantity of every setting that was served."""
    return [f"knobs.t{attempt}.room.{what}" for attempt in tried(read)]


def named(read, key: str) -> str:
    return setting(read, int(key.split(".")[1].removeprefix("t")))


def farthest(read) -> str:
    return max(keys(read, "headroom"), key=lambda key: abs(read[key].value))


def tightest(read) -> str:
    return min(keys(read, "tokens"), key=lambda key: read[key].value)


@fact("knobs.room.tried", kind="count")
def how_many(read):
    """settings that were held against the base for what they take"""
    return len(tried(read))


@fact("knobs.room.farthest", kind="label")
def farthest_label(read):
    """setting whose memory left at the wave's peak differs most from its base's"""
    return named(read, farthest(read))


@fact("knobs.room.farthest_headroom", kind="bytes", unit="byte")
def farthest_headroom(read):
    """bytes left with that setting - with its base"""
    return read[farthest(read)]


@fact("knobs.room.fewest", kind="label")
def fewest(read):
    """setting whose pools hold the fewest KV tokens, against its base"""
    return named(read, tightest(read))


@fact("knobs.room.fewest_tokens", kind="percent", unit="percent")
def fewest_tokens(read):
    """KV tokens with that setting / with the base - 1"""
    return read[tightest(read)]


@fact("knobs.room.detectable", kind="bytes", unit="byte")
def detectable(read):
    """how far the largest of the differences in memory left may be off: t x standard error, spread pooled over the settings, level shared among them (Bonferroni)"""
    found = tried(read)
    fewest_pairs = min((freed(read, attempt)[1] for attempt in found), key=len)
    pairs = Paired.of(fewest_pairs, scatter(read))
    if not pairs.known:
        raise Missing("one boot of each setting: nothing says how far the memory left may be off")
    return whole(Sample(pairs.reach(1 - (1 - read.derivation.level) / len(found)), "byte"))
