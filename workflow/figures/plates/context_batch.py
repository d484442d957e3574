"""What bends with a longer context and what does not with more requests: accept length and step latency, twice."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import Mark, interval, series
from workflow.figures.scale import from_zero, log_over, nice_ticks, thin
from workflow.figures.sheet import Panel, Sheet, Stop, gutter, label, number
from workflow.figures.style import DEN, INK2, NUM, Cue, Layout, Token

ROWS = (
    ("accept", NUM, Cue("o"), "isl.i#.dspark.accept_length", "accept.by_concurrency.c#.dspark.accept_length"),
    ("step", DEN, Cue("s"), "isl.i#.dspark.step_ms", "scale.dspark.c#.step_ms"),
)
COLUMNS = ("length", "concurrency")


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    cells = {(row[0], column): series(values, pattern) for row in ROWS for column, pattern in zip(COLUMNS, row[3:])}
    if not any(cells[row[0], "length"] for row in ROWS):
        return Missing((ROWS[0][3].replace("#", "*"), ROWS[1][3].replace("#", "*")))
    scales = {row[0]: from_zero([_top(m) for column in COLUMNS for m in cells[row[0], column]], 1.22) for row in ROWS}
    margin = gutter(layout, *(nice_ticks(scale, 3) for scale in scales.values()))
    between, right = (36, 14) if layout.narrow else (44, 24)
    height = 120 if layout.narrow else 150
    head, foot = layout.text + 12, layout.text + 10
    width = (layout.width - margin - between - right) / 2
    sheet = Sheet(layout, 2 * (head + height) + 18 + foot + layout.text + 16)
    for place, (row, color, cue, *_rest) in enumerate(ROWS):
        top = place * (head + height + 18)
        with sheet.group(row):
            sheet.text(0, top + layout.text + 1, label(row), color=color, bold=True)
            for column, axis in enumerate(COLUMNS):
                levels = [m.at for r in ROWS for m in cells[r[0], axis]] or [1]
                panel = Panel(sheet, margin + column * (width + between), top + head, width, height, log_over(levels, 1.15), scales[row])
                _panel(panel, cells[row, axis], sorted(set(levels)), color, cue, first=column == 0, last=place == 1)
                if place == 0 and cells[row, axis]:
                    sheet.stops += [Stop(panel.x(level), level, axis) for level in sorted(set(levels))]
    for column, axis in enumerate(COLUMNS):
        x = margin + column * (width + between)
        sheet.text(x + width / 2, sheet.height - 6, label(axis), "middle", INK2)
    return sheet


def _top(mark: Mark) -> float:
    """The highest ink of a mark: its value or the upper end of its interval."""
    bounds = interval(mark.fact)
    return max(mark.value, bounds[1]) if bounds else mark.value


def _panel(panel: Panel, marks: list[Mark], levels: list[int], color: Token, cue: Cue, first: bool, last: bool) -> None:
    sheet = panel.sheet
    panel.frame(thin(levels, 3 if sheet.layout.narrow else 6), nice_ticks(panel.yscale, 3), xlabels=last, ylabels=first)
    if not marks:
        sheet.text(panel.left + panel.width / 2, panel.top + panel.height / 2, label("absent"), "middle", INK2)
        return
    panel.evidence(marks, color)
    panel.curve([(m.at, m.value) for m in marks], color, cue, size=7)
    ends = [(marks[0], "start", -8)] + ([(marks[-1], "end", 8)] if len(marks) > 1 else [])
    for mark, anchor, nudge in ends:
        x, y = panel.at((mark.at, _top(mark)))
        sheet.text(x + nudge, y - 10, number(mark.key + "|bare"), anchor, color, bold=True, halo=True)


def table(values: Values) -> Table:
    rows = []
    for column, patterns in zip(COLUMNS, zip(*(row[3:] for row in ROWS))):
        levels = sorted({m.at for pattern in patterns for m in series(values, pattern)})
        rows += [(name(column), lit(level), *(key(values, pattern.replace("#", str(level))) for pattern in patterns)) for level in levels]
    return Table(("axis", "level", "accept", "step"), tuple(rows))


PLATE = Plate("context-batch", "accept.flat_over_batch", draw, table, needs=("isl.distinct_4gram_share",))
