"""Speedup foretold by one division and speedup measured, a panel a content class."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import CONTENT, series, value
from workflow.figures.scale import Scale, around, nice_ticks
from workflow.figures.sheet import Panel, Sheet, gutter, label, number
from workflow.figures.style import INK, INK2, Cue, Layout

MEASURED, PREDICTED = Cue("o"), Cue("D", (4, 2.5), filled=False)


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    measured = {c: marks for c in CONTENT if (marks := series(values, f"division.{c}.g#.measured"))}
    predicted = {c: series(values, f"division.{c}.g#.predicted") for c in measured}
    if not measured or not any(predicted.values()):
        return Missing(("division.*.g*.measured", "division.*.g*.predicted"))
    every = [m for marks in (*measured.values(), *predicted.values()) for m in marks]
    widest = max(m.at for m in every)
    scale = around([m.value for m in every] + [1.0], 0.12)
    columns = min(2 if layout.narrow else 4, len(measured))
    rows = -(-len(measured) // columns)
    between, height = (14, 130) if layout.narrow else (18, 210)
    margin = gutter(layout, nice_ticks(scale, 3))
    head, foot = layout.text * 2 + 20, layout.text + 16
    legend = (layout.text + 8) * (2 if layout.narrow else 1) + 6
    width = (layout.width - margin - 4 - between * (columns - 1)) / columns
    sheet = Sheet(layout, legend + rows * (head + height + foot) + layout.text + 6)
    _legend(sheet)
    for place, content in enumerate(measured):
        column, row = place % columns, place // columns
        panel = Panel(sheet, margin + column * (width + between), legend + row * (head + height + foot) + head, width, height,
                      Scale(0.6, widest + 0.4), scale)
        with sheet.group(content):
            panel.frame(range(1, widest + 1), nice_ticks(scale, 3), ylabels=column == 0)
            if column == 0:
                panel.broken()
            sheet.line([(panel.left, panel.y(1)), (panel.right, panel.y(1))], INK2, 1.2, (5, 3))
            _panel(panel, values, content, measured[content], predicted[content])
    sheet.text(layout.width - 4, sheet.height - 6, label("gamma"), "end", INK2)
    return sheet


def _panel(panel: Panel, values: Values, content: str, measured: list, predicted: list) -> None:
    sheet, size = panel.sheet, panel.sheet.layout.text
    sheet.text(panel.left, panel.top - size - 10, label(content), bold=True)
    if len(predicted) > 1:
        with sheet.series("predicted"):
            sheet.line([panel.at((m.at, m.value)) for m in predicted], INK2, 1.4, PREDICTED.dash)
    with sheet.series("measured"):
        panel.evidence(measured)
        panel.curve([(m.at, m.value) for m in measured], INK, MEASURED, 2.0, 6.5)
    with sheet.series("predicted"):
        sheet.marks([panel.at((m.at, m.value)) for m in predicted], PREDICTED.marker, INK2, 11, filled=None)
    best = value(values, f"window.{content}.best_gamma")
    for mark in measured:
        if mark.at == best:
            sheet.ring(panel.at((mark.at, mark.value)), INK, 15)
            sheet.text(panel.left, panel.top - 4, number(f"division.{content}.g{mark.at}.measured"), "start", INK, sheet.layout.big, bold=True)


def _legend(sheet: Sheet) -> None:
    """Marks are the same in every panel, so they are named once, above."""
    size = sheet.layout.text
    step = size + 8
    spots = [(8, size), (8, size + step)] if sheet.layout.narrow else [(8, size), (250, size)]
    for (x, y), text, cue, color in zip(spots, ("measured", "predicted"), (MEASURED, PREDICTED), (INK, INK2)):
        with sheet.series(text):
            sheet.line([(x - 8, y - 5), (x + 18, y - 5)], color, 1.8, cue.dash)
            sheet.marks([(x + 5, y - 5)], cue.marker, color, 7 if cue.filled else 10, True if cue.filled else None)
            sheet.text(x + 26, y, label(text), color=color)


def table(values: Values) -> Table:
    rows = []
    for content in CONTENT:
        for mark in series(values, f"division.{content}.g#.measured"):
            row = f"division.{content}.g{mark.at}"
            rows.append((name(content), lit(mark.at), *(key(values, f"{row}.{part}") for part in ("predicted", "measured", "gap"))))
    return Table(("content", "gamma", "predicted", "measured", "gap"), tuple(rows))


PLATE = Plate("division", "division.predicts", draw, table, wide=True, needs=("window.all.plain.tpot_ms",))
