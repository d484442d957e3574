"""What a request cap trades, at one block size: token budget, time to first token and throughput over one axis of caps."""

from __future__ import annotations

from dataclasses import replace

from workflow.derive.values import Values
from workflow.figures.panels import beside
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import Mark, series, value
from workflow.figures.sheet import Sheet
from workflow.figures.style import DEN, INK, INK2, Layout

PANELS = (("tokens", INK2), ("ttft_ms", DEN), ("output_throughput", INK))


def curve(values: Values, part: str) -> list[Mark]:
    """One figure at every cap, the lowest cap first."""
    known = [(value(values, f"walls.cap.t{mark.at}.cap"), mark) for mark in series(values, f"walls.cap.t#.{part}")]
    return [replace(mark, at=round(cap)) for cap, mark in known if cap is not None and cap >= 1]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = [(part, color, marks) for part, color in PANELS if len(marks := curve(values, part)) > 1]
    if not shown:
        return Missing(tuple(f"walls.cap.t*.{part}" for part, _ in PANELS))
    return beside(layout, shown, "cap", keep=6)


def table(values: Values) -> Table:
    columns = ("cap", *(part for part, _ in PANELS))
    rows = [tuple(key(values, f"walls.cap.t{mark.at}.{part}") for part in columns) for mark in series(values, "walls.cap.t#.cap")]
    return Table(columns, tuple(rows))


PLATE = Plate("cap", "walls.cap_trades_tokens", draw, table, needs=("walls.cap.gamma", "walls.cap.concurrency"))
