"""The stages of the search in their order, what each took as a bar, with its boots and cells."""

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
BAR = 13
"""Height of a bar, in SVG units."""


def stages(values: Values) -> list[tuple[str, float]]:
    """(stage, minutes) of the stages that took any."""
    known = [(stage, value(values, f"shape.{stage}.minutes")) for stage in STAGES]
    return [(stage, minutes) for stage, minutes in known if minutes is not None and minutes > 0]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = stages(values)
    if not shown:
        return Missing(("shape.*.minutes",))
    left, right = (24, 2) if layout.narrow else (176, 212)
    pitch, head = (layout.text + 27, 4) if layout.narrow else (30, layout.text + 12)
    sheet = Sheet(layout, head + pitch * len(shown) + layout.text * 2 + 26)
    time = from_zero([minutes for _, minutes in shown], 1.02)
    panel = Panel(sheet, left, head, layout.width - left - right, pitch * len(shown) + 4, time, Scale(0, 1))
    ends = {"boots": panel.right + 56, "cells": panel.right + 116, "minutes": panel.right + right - 2}
    rows = [panel.top + pitch * (place + 1) - BAR / 2 - 5 for place in range(len(shown))]
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
    panel.frame(nice_ticks(panel.xscale))
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("axis"), "end", INK2)
    return sheet


def _label(panel: Panel, y: float, stage: str) -> None:
    """The stage's name; on wide paper it ends before the line that joins the stages."""
    if panel.sheet.layout.narrow:
        row_label(panel, y, stage, bold=True)
    else:
        panel.sheet.text(panel.left - 20, y + panel.sheet.layout.text * 0.35, label(stage), "end", INK)


def table(values: Values) -> Table:
    rows = [(name(stage), *(key(values, f"shape.{stage}.{what}") for what in ("boots", "cells", "minutes"))) for stage, _ in stages(values)]
    return Table(("stage", "boots", "cells", "minutes"), tuple(rows))


PLATE = Plate("search-stages", "search.boot_dominates", draw, table,
              needs=("search.minutes", "search.boot_share", "search.boot_s", "search.boots", "search.cells"))
