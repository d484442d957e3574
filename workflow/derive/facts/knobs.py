"""Single settings against the base beside them, one at a time, at the search's load."""

from __future__ import annotations

from workflow.derive.facts.compare import beyond_noise
from workflow.derive.facts.search import with_students_t
from workflow.derive.registry import fact
from workflow.derive.rows import Missing

INERT = "inert by construction"
"""The search's verdict on a setting whose mechanism had nothing to do and costs nothing: its ratio is noise."""
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
    """time per token of the base / with the setting, paired by boot; its interval is Student's t over the pairs"""
    return with_students_t(read, "knobs", {"label": setting(read, attempt)})


def keys(read) -> list[str]:
    return [f"knobs.t{attempt}.ratio" for attempt in range(1, min(len(settings(read)), len(TRIES)) + 1)]


@fact("knobs.resolved", kind="count")
def resolved(read):
    """settings whose ratio the noise tells from one"""
    return sum(beyond_noise(read, read[key]) != 0 for key in read.present(keys(read)))


def best(read) -> str:
    """Key of the largest ratio of the settings that could have an effect at that load, as far as the search tells."""
    found = []
    for key in read.present(keys(read)):
        verdict = key.replace(".ratio", ".at_load.verdict")
        if not (read.has(verdict) and read.label(verdict) == INERT):
            found.append(key)
    if not found:
        raise Missing("no setting that was tried could have an effect at the search's load")
    return read.largest(found)


@fact("knobs.best_label", kind="label")
def best_label(read):
    """setting with the largest ratio, of those that could have an effect at that load"""
    return setting(read, keys(read).index(best(read)) + 1)


@fact("knobs.best_ratio", kind="ratio")
def best_ratio(read):
    """largest ratio of the settings that could have an effect at that load: biased upwards, as the best of several is"""
    return read[best(read)]
