"""How wide nothing is: repeats of one configuration beside effects of the sweeps, one or a few of each, and of the search."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import strip
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import CONTENT, series, value
from workflow.figures.sheet import Sheet
from workflow.figures.style import Layout


def effects(values: Values) -> list[tuple[str, str]]:
    """(label, key) of those that have a number: speculation by content, drafter, mode and length, both ends of the lanes, the search, its settings, the cache."""
    levels = [mark.at for mark in series(values, "lanes.c#.ratio")]
    ends = [("lanes_first", f"lanes.c{levels[0]}.ratio"), ("lanes_last", f"lanes.c{levels[-1]}.ratio")] if levels else []
    known = [(f"window_{c}", f"window.{c}.best_speedup") for c in CONTENT]
    known += [("mtp", "window.all.mtp.speedup"), ("mode", "modes.in_cheapest.at_best.speedup")]
    known += [("isl", "isl.at_longest.dspark.speedup"), ("osl", "osl.at_longest.dspark.speedup"), *ends[: len(set(levels))]]
    known += [("search", "search.winner_ratio"), ("confirm", "search.confirm_ratio"), ("knobs", "knobs.best_ratio")]
    known += [("cache_shared", "cache.shared.ratio"), ("cache_random", "cache.random.ratio")]
    return [(text, fact) for text, fact in known if (value(values, fact) or 0.0) > 0]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    same, rows = [m for m in series(values, "noise.aa.#.ratio") if m.value > 0], effects(values)
    if not same and not rows:
        return Missing(("noise.aa.*.ratio", "window.*.best_speedup"))
    return strip(values, layout, rows, same)


def plain(fact: str) -> str:
    """Key of the plain time per token under an effect: on its text, at its load, in the search. The cache's traffic has none."""
    family, where = fact.split(".")[:2]
    return "search.plain_tpot_ms" if family in ("search", "knobs") else f"{family}.{where}.plain.tpot_ms"


def table(values: Values) -> Table:
    rows = [(name("repeats"), key(values, mark.key), key(values, "-")) for mark in series(values, "noise.aa.#.ratio")]
    rows += [(name("floor"), key(values, "noise.floor"), key(values, "-"))]
    rows += [(name(text), key(values, fact), key(values, plain(fact))) for text, fact in effects(values)]
    return Table(("effect", "ratio", "plain_tpot"), tuple(rows))


PLATE = Plate("noise", "noise.small", draw, table, wide=True, needs=("noise.comparisons", "window.all.plain.tpot_ms"))
