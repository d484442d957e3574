"""What speculation is worth, traffic by traffic: the ratios behind the advice, beside parity and the noise."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import strip
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import CONTENT, value
from workflow.figures.sheet import Sheet
from workflow.figures.style import Layout

BANDS = ("one", "few", "many")


def effects(values: Values) -> list[tuple[str, str]]:
    """(label, key) of the ratios that the advice rests on and that this campaign has: by content, then by load."""
    known = [(f"content_{content}", f"run.{content}.speedup") for content in CONTENT]
    known += [(f"band_{band}", f"run.band.{band}.ratio") for band in BANDS]
    return [(text, fact) for text, fact in known if (value(values, fact) or 0.0) > 0]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    rows = effects(values)
    return strip(values, layout, rows, []) if rows else Missing(("run.*.speedup", "run.band.*.ratio"))


def plain(text: str) -> str:
    """Key of the plain time per token under a row's ratio: that of its text, or that of its load."""
    kind, what = text.split("_")
    return f"run.{what}.plain_tpot_ms" if kind == "content" else f"run.band.{what}.plain.tpot_ms"


def table(values: Values) -> Table:
    return Table(("traffic", "ratio", "plain_tpot"), tuple((name(text), key(values, fact), key(values, plain(text))) for text, fact in effects(values)))


PLATE = Plate("advice", "run.band.one.verdict", draw, table, needs=("noise.floor", "window.all.plain.tpot_ms"))
