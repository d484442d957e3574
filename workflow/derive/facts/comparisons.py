"""Every comparison of speculation with plain decoding in the eager sweeps, and which of them wins and which loses by the most."""

from __future__ import annotations

from dataclasses import dataclass

from workflow.derive.facts.batch import SIZES
from workflow.derive.facts.window import lane_of
from workflow.derive.registry import DECLARED
from workflow.derive.rows import Missing

ONE_CONTENT, ARMS = DECLARED["one_content"], DECLARED["arm"]
BY_THROUGHPUT = ("concurrency", "batch")
"""Sweeps under load: their ratio is that of the output throughputs. One request at a time, it is that of the times per token."""


@dataclass(frozen=True)
class Comparison:
    """Speculation against plain decoding under one load."""

    sweep: str
    lane: str
    ratio: str
    """Key of the speed ratio."""
    tpot: str
    plain_tpot: str
    distinct: str
    where: dict
    """Selection of its rows."""
    plain_where: dict
    """Selection of the rows of plain decoding under the same load."""


def beside_plain(sweep: str, prefix: str, arm: str, ratio: str, distinct: str, **where) -> Comparison:
    """One arm of the cells under `prefix`; `where` is what they share."""
    by = "lane" if arm == "dspark" else "arm"
    rows, plain = (where | {by: one} for one in (arm, "plain"))
    return Comparison(sweep, lane_of(arm), ratio, f"{prefix}.{arm}.tpot_ms", f"{prefix}.plain.tpot_ms", distinct, rows, plain)


def candidates(domains: dict[str, tuple]) -> list[list[Comparison]]:
    """Every comparison that a campaign may have, in groups within which only the arm differs.

    Arrivals on a timetable set their own throughput, and random ids are no text: neither is among them.
    """
    found = []
    for content in ONE_CONTENT:
        cell = f"window.{content}"
        found.append([beside_plain("window", cell, arm, f"{cell}.{arm}.speedup", f"{cell}.distinct_4gram_share", content=content) for arm in ARMS])
        cell = f"content.{content}"
        found.append([beside_plain("content", cell, "dspark", f"{cell}.speedup", f"{cell}.free.distinct_4gram_share", content=content)])
    for level in domains["concurrency"]:
        cell = f"lanes.c{level}"
        found.append([beside_plain("concurrency", cell, "dspark", f"{cell}.ratio", "lanes.distinct_4gram_share", max_concurrency=level)])
    for level in domains["level"]:
        cell = f"batch.c{level}"
        found.append([beside_plain("batch", cell, arm, f"{cell}.{arm}.ratio", "batch.distinct_4gram_share", max_concurrency=level) for arm in SIZES])
    for length in domains["isl"]:
        cell = f"isl.i{length}"
        found.append([beside_plain("isl", cell, "dspark", f"{cell}.dspark.speedup", "isl.distinct_4gram_share", isl=length)])
    for length in domains["osl"]:
        cell = f"osl.o{length}"
        found.append([beside_plain("osl", cell, "dspark", f"{cell}.dspark.speedup", f"{cell}.dspark.distinct_4gram_share", osl=length)])
    return found


def groups(read) -> list[list[Comparison]]:
    """The comparisons that this campaign has."""
    present = [[c for c in group if read.has(c.ratio)] for group in candidates(read.derivation.domains)]
    if not any(present):
        raise Missing("no sweep of this campaign compares speculation with plain decoding")
    for group in present:
        for comparison in group:
            read.fact(comparison.ratio)
    return [group for group in present if group]


def winners(read) -> list[Comparison]:
    """The best arm of each group, best first."""
    return sorted((max(group, key=lambda c: read[c.ratio].value) for group in groups(read)), key=lambda c: -read[c.ratio].value)


def losers(read) -> list[Comparison]:
    """The worst arm of each group, worst first."""
    return sorted((min(group, key=lambda c: read[c.ratio].value) for group in groups(read)), key=lambda c: read[c.ratio].value)


def chosen(read, which: str) -> Comparison:
    """The largest win, or the largest loss."""
    return (winners(read) if which == "win" else losers(read))[0]
