"""Single settings against the base beside them, one at a time: the ratio of each, the noise floor as a band."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import strip
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import series, word
from workflow.figures.sheet import Sheet
from workflow.figures.style import Layout

SAID = ("at_load.detectable", "at_load.binds", "at_load.why", "at_load.verdict", "bound.served", "bound.verdict")
"""What the search says of a setting: at its own load, and in a regime in which the mechanism can bind."""
TAKES = ("tokens", "headroom")
"""What it takes under one budget, where the campaign asked."""


def settings(values: Values) -> list[tuple[str, str]]:
    """(key of the setting's name, key of its ratio), the largest ratio first."""
    found = [(f"knobs.t{mark.at}.label", mark) for mark in series(values, "knobs.t#.ratio") if mark.value > 0]
    return [(text, mark.key) for text, mark in sorted(found, key=lambda one: -one[1].value) if word(values, text)]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    rows = settings(values)
    return strip(values, layout, rows, [], 258) if rows else Missing(("knobs.t*.ratio",))


def table(values: Values) -> Table:
    rows, rooms = [], {fact.value: fact.key.removesuffix(".label") for fact in values.match("knobs.room.t*.label")}
    for text, fact in settings(values):
        told = text.removesuffix(".label")
        room = rooms.get(word(values, text), "")
        said = (key(values, f"{told}.{what}") for what in SAID)
        rows.append((key(values, text), key(values, fact), *said, *(key(values, f"{room}.{what}") for what in TAKES)))
    return Table(("setting", "ratio", "detectable", "binds", "why", "verdict", "served", "bound", *TAKES), tuple(rows))


PLATE = Plate("knobs", "knobs.best_pays", draw, table, needs=("knobs.tried", "knobs.resolved", "search.concurrency", "search.plain_tpot_ms"))
