"""What a request cap trades, at one block size: token budget, time to first token and throughput over one axis of caps."""

from __future__ import annotations

from dataclasses import replace

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import Mark, series, value
from workflow.figures.scale import from_zero, log_over, nice_ticks
from workflow.figures.sheet import Panel, Sheet, gutter, label, number
from workflow.figures.style import DEN, INK, INK2, Layout, Token

PANELS = (("tokens", INK2), ("ttft_ms", DEN), ("output_throughput", INK))


def curve(values: Values, part: str) -> list[Mark]:
    """One figure at every cap, the lowest cap first."""
    known = [(value(values, f"walls.cap.t{mark.at}.cap"), mark) for mark in series(values, f"walls.cap.t#.{part}")]
    return [replace(mark, at=round(cap)) for cap, mark in known if cap is not None and cap >= 1]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = [(part, color, marks) for part, color in PANELS if len(marks := curve(values, part)) > 1]
    if not shown:
        return Missing(tuple(f"walls.cap.t*.{part}" for part, _ in PANELS))
    levels = sorted({mark.at for *_, marks in shown for mark in marks})
    across, scales = log_over(levels, 1.25), [from_zero([mark.value for mark in marks], 1.3) for *_, marks in shown]
    head, height, foot, air = layout.text + 16, 120 if layout.narrow else 150, layout.text + 10, 18
    sheet = Sheet(layout, (head + height + foot + air) * (len(shown) if layout.narrow else 1) + layout.text + 2)
    for place, ((part, color, marks), scale) in enumerate(zip(shown, scales)):
        room = layout.width if layout.narrow else layout.width / len(shown)
        left, top = (0, place * (head + height + foot + air)) if layout.narrow else (place * room, 0)
        margin = gutter(layout, nice_ticks(scale, 3))
        with sheet.group(part.replace("_", "-")):
            sheet.text(left, top + layout.text + 1, label(part), color=color, bold=True)
            _panel(Panel(sheet, left + margin, top + head, room - margin - (6 if layout.narrow else 20), height, across, scale), marks, levels, color)
    sheet.text(layout.width - 6, sheet.height - 6, label("cap"), "end", INK2)
    return sheet


def _panel(panel: Panel, marks: list[Mark], levels: list[int], color: Token) -> None:
    panel.frame(levels, nice_ticks(panel.yscale, 3))
    panel.evidence(marks, color)
    panel.curve([(mark.at, mark.value) for mark in marks], color)
    for mark, anchor, aside in ((marks[0], "start", -8), (marks[-1], "end", 8)):
        panel.sheet.text(panel.x(mark.at) + aside, _above(panel, mark), number(mark.key + "|bare"), anchor, color, bold=True, halo=True)


def _above(panel: Panel, mark: Mark) -> float:
    """Baseline of a figure over a mark and over the interval that stands on it."""
    return panel.y(min(panel.yscale.hi, max(mark.value, mark.fact.hi or mark.value, *mark.fact.repeats))) - 11


def table(values: Values) -> Table:
    columns = ("cap", *(part for part, _ in PANELS))
    rows = [tuple(key(values, f"walls.cap.t{mark.at}.{part}") for part in columns) for mark in series(values, "walls.cap.t#.cap")]
    return Table(columns, tuple(rows))


PLATE = Plate("cap", "walls.cap_trades_tokens", draw, table, needs=("walls.cap.gamma", "walls.cap.concurrency"))
