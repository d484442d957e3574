"""The staged search: base against base, the block sizes at one load, then base and the fastest candidate on fresh boots."""

import math

import numpy as np

from workflow.derive.facts import measures
from workflow.derive.facts.flags import engine_flags
from workflow.derive.paired import Paired, spread
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample
from workflow.derive.values import natural

STAGES = ("aa", "window", "confirm")
TRIED = ("candidate", "winner")
"""Label of what the confirmation put to the test; `winner` in files of an older search, whether it won or not."""
LATER = ("memory", "factorial", "knobs", "cache", "heads", "lanes", "frontier", "curve", "sentinel")
"""Stages that a search has where its campaign asks for them."""


def every(read):
    return read.points("search", stage=STAGES)


@fact("search.boots", kind="count")
def boots(read):
    """distinct processes that served the search"""
    return len(set(read.points("search", stage=(*STAGES, *LATER)).texts("boot_id")))


@fact("search.cells", kind="count")
def cells(read):
    """points of the search that ended well"""
    return len(read.points("search", stage=(*STAGES, *LATER)).texts("run_id"))


@fact("search.minutes", kind="duration", unit="min")
def minutes(read):
    """duration of the search, boots included"""
    return Sample(read.manifest("cost.total_s", "search"), "s")


@fact("search.boot_share", kind="percent", unit="percent")
def boot_share(read):
    """time spent booting / duration of the search"""
    return Sample(read.manifest("cost.boot_s", "search"), "s") / Sample(read.manifest("cost.total_s", "search"), "s")


@fact("search.boot_s", kind="duration", unit="s/boot")
def boot_s(read):
    """time spent booting / boots of the search"""
    return Sample(read.manifest("cost.boot_s", "search"), "s") / Sample(read.manifest("cost.boots", "search"), "boot")


def arm_of(read, stage: str, label) -> tuple[str, str]:
    """(lane, block size) of a label, or of one of several, in one stage."""
    rows = read.points("search", stage=stage, label=label)
    return rows.texts("lane")[0], rows.texts("block_size")[0]


def drafted(read, stage: str, label) -> int:
    lane, size = arm_of(read, stage, label)
    if not size:
        raise Missing(f"the {label if label == 'base' else 'candidate'} is {lane} decoding, which drafts nothing")
    return int(size)


@fact("search.winner", kind="label")
def winner(read):
    """lane that the search carried into its confirmation"""
    return arm_of(read, "confirm", TRIED)[0]


@fact("search.winner_gamma", kind="count")
def winner_gamma(read):
    """block size that the search carried into its confirmation"""
    return drafted(read, "confirm", TRIED)


@fact("search.{label}_label", kind="label", label=("winner", "base"))
def label(read, label):
    """lane and block size of the base, or of the candidate: the arm that was put to the test, or the fastest where none was"""
    lane, size = named(read, label)
    return f"{lane}-g{size}" if lane in ("dspark", "lookup") else lane


def named(read, label: str) -> tuple[str, str]:
    """(lane, block size) of the base, or of the candidate under its older name."""
    table, confirmed = read.campaign.find("points", "search"), TRIED if label == "winner" else label
    if table is not None and len(table.select({"stage": "confirm", "label": confirmed, "status": "ok"})):
        return arm_of(read, "confirm", confirmed)
    if label == "base":
        rows = read.points("search", label=("base", "base-a", "base-b"), stage=STAGES)
        return rows.texts("lane")[0], rows.texts("block_size")[0]
    rows = read.points("search", stage="window")
    arms = sorted(set(zip(rows.texts("lane"), rows.texts("block_size"), rows.texts("label"))))
    rivals = [(lane, size) for lane, size, name in arms if name != "base"]
    if not rivals:
        raise Missing("the search compared nothing with its base")
    return max(rivals, key=lambda arm: ratio_of(read, "window", {"lane": arm[0], "block_size": arm[1] or None}).value)


@fact("search.{label}_flags", kind="label", label=("winner", "base"))
def flags(read, label):
    """flags of `engine.generate` and `engine.serve` that choose that arm"""
    lane, size = named(read, label)
    modes = set(read.points("search", stage=STAGES, lane=lane, block_size=size or None).texts("mode"))
    if len(modes) > 1:
        raise Missing(f"the search ran in several modes: {', '.join(sorted(modes))}")
    return engine_flags(modes.pop(), lane, size)


@fact("search.base_gamma", kind="count")
def base_gamma(read):
    """block size of the base"""
    return drafted(read, "confirm", "base")


@fact("search.concurrency", kind="count")
def concurrency(read):
    """requests in flight during the search"""
    found = set(every(read).texts("max_concurrency"))
    if len(found) > 1:
        raise Missing(f"the search ran at several concurrencies: {', '.join(sorted(found))}")
    return int(found.pop())


def ratio_of(read, stage: str, candidate: dict) -> Sample:
    """exp of the mean over a candidate's cells of ln(base / candidate), time per token, both in one block of the order."""
    rows, logs = logs_of(read, stage, candidate)
    return Sample(np.exp(rows.weights.sums(rows.index, logs) / rows.weights.sums(rows.index, np.ones(len(logs)))))


def logs_of(read, stage: str, candidate: dict) -> tuple[Rows, np.ndarray]:
    """A candidate's cells in one stage, and ln(base / candidate) of each [cells]."""
    base, rows = read.points("search", stage=stage, label="base"), read.points("search", stage=stage, **candidate)
    keep = np.array([name != "base" for name in rows.texts("label")])
    rows = rows.where_true(keep)
    if not len(rows):
        raise Missing(f"no cell of stage {stage} stands against its base")
    drifts = stage in ("window", "knobs") and "order" in base.table.columns
    bases: dict[str, list[tuple[float, float]]] = {}
    for block, place, time in zip(base.texts("boot"), places(base, drifts), np.log(base.read("mean_tpot_ms"))):
        bases.setdefault(block, []).append((place, time))
    logs = []
    for block, place, time in zip(rows.texts("boot"), places(rows, drifts), np.log(rows.read("mean_tpot_ms"))):
        if block not in bases:
            raise Missing(f"stage {stage}, boot {block}: the base has no cell beside the candidate's")
        logs.append(beside(sorted(bases[block]), place, drifts) - time)
    return rows, np.array(logs)


def places(rows, drifts: bool) -> np.ndarray:
    """Place of each cell in the order of measuring; zero where it does not matter."""
    return rows.read("order") if drifts else np.zeros(len(rows))


def beside(bases: list[tuple[float, float]], place: float, drifts: bool) -> float:
    """Logarithm of the base's time at a place in the order.

    Among many candidates: on the line between its neighbours, so that a drift cancels. Turned about with one (ABBA): its mean.
    """
    order, times = zip(*bases)
    return float(np.interp(place, order, times) if drifts else np.mean(times))


@fact("search.winner_ratio", kind="ratio")
def winner_ratio(read):
    """time per token of the base / of the candidate where it was chosen, paired by boot: biased upwards, as the best of several is"""
    lane, size = named(read, "winner")
    return ratio_of(read, "window", {"lane": lane, "block_size": size or None})


@fact("search.plain_tpot_ms", kind="duration", unit="ms/token")
def plain_tpot_ms(read):
    """plain time per token at the load and on the prompts where the candidate was chosen"""
    return measures.time_per_token(read.requests("search", stage="window", lane="plain"))


def confirmation(read) -> Paired:
    """The candidate against the base on fresh boots."""
    return judged(read, "confirm", {"label": TRIED})


def judged(read, stage: str, candidate: dict) -> Paired:
    """A candidate against its base in time per token, by what its pairs of boots scatter by, and no less than A/A pairs.

    So the search judges what it confirms; it judges single settings by output throughput, in whose verdicts this has no part.
    """
    rows, logs = logs_of(read, stage, candidate)
    boots = np.array(rows.texts("boot"))
    pairs = [float(np.mean(logs[boots == boot])) for boot in sorted(set(boots), key=natural)]
    return Paired.of(pairs, spread([pairs], aa_logs(read)))


def aa_logs(read, metric: str = "mean_tpot_ms") -> list[float]:
    """ln(b / a) of each pair of boots of one configuration; empty where the campaign has none."""
    if not read.has("noise.comparisons"):
        return []
    try:
        pairs = read.noise(metric=metric)
    except Missing:
        return []  # compared in another metric only
    return list(pairs.read("log_ratio"))


@fact("search.confirm_ratio", kind="ratio")
def confirm_ratio(read):
    """time per token of the base / of the candidate on fresh boots, paired by boot; its interval is Student's t over the pairs"""
    return with_students_t(read, "confirm", {"label": TRIED})


def with_students_t(read, stage: str, candidate: dict) -> Sample:
    """The ratio of `ratio_of`, its resamples those of Student's t over the pairs of boots."""
    ratio = ratio_of(read, stage, candidate)
    shown = 1 + read.derivation.resampling.boots_shown
    drawn = judged(read, stage, candidate).drawn(len(ratio.values) - shown)
    return Sample(np.concatenate([ratio.values[:shown], np.exp(drawn)]))


@fact("search.detectable", kind="percent", unit="percent")
def detectable(read):
    """how far the confirmed ratio may be off: t x standard error over the pairs of boots, whose spread is no less than the A/A pairs'"""
    fresh = confirmation(read)
    if not fresh.known:
        raise Missing("one pair of fresh boots and no A/A pairs: nothing says how far the ratio may be off")
    return math.expm1(fresh.reach(read.derivation.level))
