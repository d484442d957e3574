"""Single settings against the base beside them, one at a time, at the search's load."""

from __future__ import annotations

from workflow.derive.facts.compare import beyond_noise
from workflow.derive.facts.search import ratio_of
from workflow.derive.registry import fact
from workflow.derive.rows import Missing

TRIES = tuple(range(1, 13))


def settings(read) -> list[str]:
    """Labels `knob=value` of the stage, without the base and without those of another regime (`@bind`)."""
    labels = dict.fromkeys(read.points("search", stage="knobs").texts("label"))
    found = [label for label in labels if label != "base" and not label.endswith("@bind")]
    if not found:
        raise Missing("search.csv has no single setting against the base at the search's load")
    return found


def setting(read, attempt: int) -> str:
    found = settings(read)
    if attempt > len(found):
        raise Missing(f"{len(found)} settings were tried")
    return found[attempt - 1]


@fact("knobs.tried", kind="count")
def tried(read):
    """single settings tried against the base"""
    return len(settings(read))


@fact("knobs.t{attempt}.label", kind="label", attempt=TRIES)
def label(read, attempt):
    """setting of one try"""
    return setting(read, attempt)


@fact("knobs.t{attempt}.ratio", kind="ratio", attempt=TRIES)
def ratio(read, attempt):
    """time per token of the base / with the setting, paired by boot"""
    return ratio_of(read, "knobs", {"label": setting(read, attempt)})


def keys(read) -> list[str]:
    return [f"knobs.t{attempt}.ratio" for attempt in range(1, min(len(settings(read)), len(TRIES)) + 1)]


@fact("knobs.resolved", kind="count")
def resolved(read):
    """settings whose ratio the noise tells from one"""
    return sum(beyond_noise(read, read[key]) != 0 for key in read.present(keys(read)))


@fact("knobs.best_label", kind="label")
def best_label(read):
    """setting with the largest ratio"""
    return setting(read, keys(read).index(read.largest(keys(read))) + 1)


@fact("knobs.best_ratio", kind="ratio")
def best_ratio(read):
    """largest ratio of the settings tried: biased upwards, as the best of several is"""
    return read[read.largest(keys(read))]
