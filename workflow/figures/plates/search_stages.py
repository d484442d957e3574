"""The stages of the search in their order, what each took as a bar, with its boots and cells; dashed, what of that time was given up."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import row_label
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import value
from workflow.figures.scale import Scale, from_zero, nice_ticks
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import INK, INK2, Layout

STAGES = ("aa", "memory", "factorial", "knobs", "cache", "window", "heads", "lanes", "frontier", "confirm", "curve")
"""In the order in which a search runs them; a campaign has a bar for those that it asked for."""
LOST = ("rejected", "thrown_away")
"""Time within that of the stages: arms that did not stay, and cells that were thrown away."""
BAR = 13
"""Height of a bar, in SVG units."""


def stages(values: Values) -> list[tuple[str, float]]:
    """(stage, minutes) of the stages that took any."""
    known = [(stage, value(values, f"shape.{stage}.minutes")) for stage in STAGES]
    return [(stage, minutes) for stage, minutes in known if minutes is not None and minutes > 0]


def lost(values: Values) -> list[tuple[str, float]]:
    """(what, minutes) of the time that was given up, where there was any."""
    known = [(what, value(values, f"shape.{what}_minutes")) for what in LOST]
    return [(what, minutes) for what, minutes in known if minutes is not None and minutes > 0]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown, gone = stages(values), lost(values)
    if not shown:
        return Missing(("shape.*.minutes",))
    left, right = (24, 2) if layout.narrow else (176, 212)
    pitch, head = (layout.text + 27, 4) if layout.narrow else (30, layout.text + 12)
    height = pitch * (len(shown) + len(gone)) + 4
    sheet = Sheet(layout, head + height + layout.text * 2 + 22)
    time = from_zero([minutes for _, minutes in (*shown, *gone)], 1.02)
    panel = Panel(sheet, left, head, layout.width - left - right, height, time, Scale(0, 1))
    ends = {"boots": panel.right + 56, "cells": panel.right + 116, "minutes": panel.right + right - 2}
    heights = [panel.top + pitch * (place + 1) - BAR / 2 - 5 for place in range(len(shown) + len(gone))]
    rows = heights[: len(shown)]
    spine = 8 if layout.narrow else left - 6
    sheet.line([(spine, rows[0]), (spine, rows[-1])], INK2, 1.2)  # one after another
    sheet.marks([(spine, y) for y in rows], "o", INK2, 6)
    for column, x in () if layout.narrow else ends.items():
        sheet.text(x, layout.text, label(column), "end", INK2)
    for (stage, minutes), y in zip(shown, rows):
        _label(panel, y, stage)
        panel.bar(minutes, y, BAR)
        for column, x in {"minutes": panel.right}.items() if layout.narrow else ends.items():
            lift, color = (-0.95 if layout.narrow else 0.35) * layout.text, INK if column == "minutes" else INK2
            sheet.text(x, y + lift, number(f"shape.{stage}.{column}"), "end", color)
    for (what, minutes), y in zip(gone, heights[len(shown) :]):
        _lost(panel, y, what, minutes, ends["minutes"])
    panel.frame(nice_ticks(panel.xscale))
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("axis"), "end", INK2)
    return sheet


def _lost(panel: Panel, y: float, what: str, minutes: float, end: float) -> None:
    """Time that the stages have already, given up: a dashed frame, its minutes up to `end` or on narrow paper above it."""
    sheet, narrow = panel.sheet, panel.sheet.layout.narrow
    _label(panel, y, what)
    sheet.rect(panel.left, y - BAR / 2, panel.x(minutes) - panel.left, BAR, None, INK2, dash=(4, 3))
    sheet.text(panel.right if narrow else end, y + (-0.95 if narrow else 0.35) * sheet.layout.text, number(f"shape.{what}_minutes"), "end", INK2)


def _label(panel: Panel, y: float, stage: str) -> None:
    """The stage's name; on wide paper it ends before the line that joins the stages."""
    if panel.sheet.layout.narrow:
        row_label(panel, y, stage, bold=True)
    else:
        panel.sheet.text(panel.left - 20, y + panel.sheet.layout.text * 0.35, label(stage), "end", INK)


def table(values: Values) -> Table:
    rows = [(name(stage), *(key(values, f"shape.{stage}.{what}") for what in ("boots", "cells", "minutes"))) for stage, _ in stages(values)]
    none = key(values, "-")
    rows += [(name(what), none, none, key(values, f"shape.{what}_minutes")) for what, _ in lost(values)]
    return Table(("stage", "boots", "cells", "minutes"), tuple(rows))


PLATE = Plate("search-stages", "search.boot_dominates", draw, table,
              needs=("search.minutes", "search.boot_share", "search.boot_s", "search.boots", "search.cells"))
