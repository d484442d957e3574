"""Published rows over the share of memory for weights and pools: which shares came up, which ran out, and the pool that the highest good one leaves."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import row_label
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.published import PUBLISHER
from workflow.figures.read import Mark, series, value, word
from workflow.figures.scale import Scale, around, nice_ticks
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import DEN, INK, INK2, RULE, Layout

LANES = ("plain", "dspark")
RAN_OUT = "ran-out"


def tries(values: Values, lane: str) -> list[Mark]:
    """The shares tried in one lane; only those with an outcome."""
    return [mark for mark in series(values, f"rows.memory.{lane}.t#.fraction") if word(values, f"rows.memory.{lane}.t{mark.at}.outcome")]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    lanes = [lane for lane in LANES if tries(values, lane)]
    if not lanes:
        return Missing(("rows.memory.*.t*.fraction", "rows.memory.*.t*.outcome"))
    size, pitch = layout.text, layout.text + 28
    left, right = (6, 80) if layout.narrow else (110, 100)
    head = size + 12
    sheet = Sheet(layout, head + pitch * len(lanes) + size * 2 + 22)
    sheet.text(layout.width - 2, size + 1, label("tokens"), "end", INK2)
    known = [mark.value for lane in lanes for mark in tries(values, lane)]
    panel = Panel(sheet, left, head, layout.width - left - right, pitch * len(lanes), around(known, 0.1), Scale(0, 1))
    for place, lane in enumerate(lanes):
        y = panel.top + pitch * (place + 1) - 12
        row_label(panel, y, lane, bold=lane == "dspark")
        sheet.line([(panel.left, y), (panel.right, y)], RULE, 1.0)
        for mark in tries(values, lane):
            ran_out = word(values, f"rows.memory.{lane}.t{mark.at}.outcome") == RAN_OUT
            sheet.marks([(panel.x(mark.value), y)], "x" if ran_out else "o", DEN if ran_out else INK, 9)
        if value(values, pool := f"rows.memory.{lane}.tokens_at_served") is not None:
            sheet.text(layout.width - 2, y + size * 0.35, number(pool), "end")
    panel.frame(nice_ticks(panel.xscale, 4))
    sheet.text(panel.right, panel.bottom + size * 2 + 13, label("fraction"), "end", INK2)
    return sheet


def table(values: Values) -> Table:
    rows = [
        (name(lane), *(key(values, f"rows.memory.{lane}.t{mark.at}.{part}") for part in ("fraction", "outcome", "tokens")))
        for lane in LANES
        for mark in tries(values, lane)
    ]
    return Table(("lane", "fraction", "outcome", "tokens"), tuple(rows))


PLATE = Plate("published-memory", "rows.memory_wall", draw, table, needs=(PUBLISHER,))
