"""Whether a setting's mechanism had anything to do, and what the search concluded: as the search's manifest says it."""

from __future__ import annotations

from workflow.derive.facts.knobs import INERT, TRIES, setting
from workflow.derive.paired import holm
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

KNOBS = ("chunked_prefill_size", "cuda_graph_max_bs", "schedule_conservativeness", "radix_cache", "mamba_ssm_dtype")
JUDGED = ("better", "worse", "not resolved")
BINDS = {True: "could bind", False: "could not bind", None: "cannot be told"}
SUFFIX = {"at_load": "", "bound": "@bind"}
"""Regime -> what the search appends to a setting's label there: the search's own load, and one in which the mechanism can bind."""


def entry(read, label: str) -> str:
    """Path in the manifest of what the search says of one setting in one regime."""
    for place, one in enumerate(read.look("search.knobs", "search")):
        if one["label"] == label:
            return f"search.knobs.{place}"
    raise Missing(f"the search says nothing of {label}")


def entry_of(read, attempt: int, regime: str) -> str:
    """The same of one try in one regime."""
    return entry(read, setting(read, attempt) + SUFFIX[regime])


def binds(read, path: str) -> bool | None:
    """Whether the mechanism could bind; None where the rows did not tell."""
    return None if read.look(path, "search").get("could_bind") is None else read.manifest(f"{path}.could_bind", "search")


def verdict_of(read, path: str) -> str:
    """The search's verdict. A setting that had nothing to do has none, in a file of an older search either; one that costs all the same says so."""
    told = read.manifest(f"{path}.verdict", "search")
    older = told in JUDGED and read.look(path, "search")["knob"] != "radix_cache"
    return INERT if older and binds(read, path) is False else told


@fact("knobs.t{attempt}.{regime}.{what}", kind="label", attempt=TRIES, regime=tuple(SUFFIX), what=("binds", "verdict", "why"))
def told(read, attempt, regime, what):
    """whether the mechanism of this setting could bind in that regime, the search's verdict on it there, or why it could bind"""
    path = entry_of(read, attempt, regime)
    if what == "why":
        return read.manifest(f"{path}.why", "search")
    return BINDS[binds(read, path)] if what == "binds" else verdict_of(read, path)


@fact("knobs.t{attempt}.{regime}.served", kind="ratio", attempt=TRIES, regime=tuple(SUFFIX))
def served(read, attempt, regime):
    """output throughput with this setting in that regime / with the base beside it, as the search's manifest has it"""
    return read.manifest(f"{entry_of(read, attempt, regime)}.ratio", "search")


@fact("knobs.t{attempt}.{regime}.detectable", kind="percent", unit="percent", attempt=TRIES, regime=tuple(SUFFIX))
def detectable(read, attempt, regime):
    """smallest relative difference that the search could have told there, four times in five"""
    return Sample(read.manifest(f"{entry_of(read, attempt, regime)}.minimum_detectable", "search") - 1)


def named(read, knob: str) -> list[str]:
    """Paths of everything that the search says of one knob."""
    every = [f"search.knobs.{place}" for place, _ in enumerate(read.look("search.knobs", "search"))]
    return [path for path in every if read.manifest(f"{path}.knob", "search") == knob]


def entries(read, knob: str) -> list[str]:
    """The same of a knob that was tried."""
    found = named(read, knob)
    if not found:
        raise Missing(f"the search did not try {knob}")
    return found


@fact("knobs.{knob}.regimes", kind="count", knob=KNOBS)
def regimes(read, knob):
    """settings and loads under which the search tried this knob"""
    return len(named(read, knob))


@fact("knobs.{knob}.{count}", kind="count", knob=KNOBS, count=("binding", "inert"))
def regimes_by_mechanism(read, knob, count):
    """settings and loads in which the mechanism of this knob could bind, or could not; of others the rows do not tell"""
    return sum(binds(read, path) is (count == "binding") for path in entries(read, knob))


def where_it_binds(read, knob: str) -> list[str]:
    """The same of the regimes in which its mechanism could bind, as far as the rows tell."""
    paths = [path for path in entries(read, knob) if binds(read, path) is not False]
    if not paths:
        raise Missing(f"{knob} could bind in no regime that was tried")
    return paths


@fact("knobs.{knob}.detectable", kind="percent", unit="percent", knob=KNOBS)
def detectable_of_knob(read, knob):
    """relative difference that the search could have told, four times in five, in each regime in which the mechanism of this knob could bind"""
    paths = [path for path in where_it_binds(read, knob) if read.look(path, "search").get("minimum_detectable") is not None]
    if not paths:
        raise Missing(f"nothing says how far the ratios of {knob} may be off")
    return Sample(max(read.manifest(f"{path}.minimum_detectable", "search") for path in paths) - 1)


@fact("knobs.{knob}.p", kind="probability", knob=KNOBS)
def p_value(read, knob):
    """smallest p of this knob's settings where its mechanism could bind, adjusted (Holm) for how many they are"""
    paths = where_it_binds(read, knob)
    known = [read.manifest(f"{path}.p", "search") for path in paths if read.look(path, "search").get("p") is not None]
    if not known:
        raise Missing(f"nothing says how far the ratios of {knob} may be off")
    return min(holm([max(0.0, p) for p in known]))  # older files integrate to a hair below zero
