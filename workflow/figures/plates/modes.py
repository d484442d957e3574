"""What a verify window costs in plain steps of the same mode, beside what it may cost: a panel for each execution mode, one scale."""

from __future__ import annotations

from workflow.derive.shown import MODES
from workflow.derive.values import Values
from workflow.figures.plate import Cell, Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import Mark, series, value
from workflow.figures.scale import Scale, from_zero, nice_ticks
from workflow.figures.sheet import Panel, Sheet, gutter, label, number
from workflow.figures.style import DEN, INK2, NUM, Cue, Layout

GAP = 16
ANCHOR = (1, 1.0)
"""One position is one plain step, by definition."""


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = [mode for mode in MODES if _limit(values, mode)]
    if not shown:
        return Missing(("modes.*.g*.break_even_ratio",))
    costs = {mode: _cost(values, mode) for mode in shown}
    limits = {mode: [(m.at + 1, m.value) for m in _limit(values, mode)] for mode in shown}
    points = [p for mode in shown for p in (*costs[mode], *limits[mode])]
    scale = from_zero([y for _, y in points], 1.12)
    ticks = nice_ticks(scale, 4)
    widest = max(x for x, _ in points)
    margin, size = gutter(layout, ticks), layout.text
    columns = 1 if layout.narrow else len(shown)
    head, title, foot = 2 * size + 18, size + 16, size + 18
    height = 130 if layout.narrow else 230
    width = (layout.width - margin - 12 - GAP * (columns - 1)) / columns
    rows = -(-len(shown) // columns)
    sheet = Sheet(layout, head + rows * (title + height + foot) + size + 6)
    for line, (text, color) in enumerate((("cost", DEN), ("limit", NUM))):
        with sheet.series(text):
            sheet.text(0, size + 1 + line * (size + 5), label(text), color=color, bold=True)
    for place, mode in enumerate(shown):
        row, column = divmod(place, columns)
        top = head + row * (title + height + foot) + title
        panel = Panel(sheet, margin + column * (width + GAP), top, width, height, Scale(0.6, widest + 0.4), scale)
        with sheet.group(mode):
            panel.frame(range(1, round(widest) + 1), ticks, ylabels=column == 0)
            sheet.text(panel.left, top - 8, label(mode), bold=True)
            sheet.text(panel.right, top - 8, number(f"modes.{mode}.at_best.speedup"), "end")
            sheet.line([panel.at((0.6, 1)), panel.at((widest + 0.4, 1))], INK2, 1.0, (5, 3))
            with sheet.series("limit"):
                panel.curve([ANCHOR, *limits[mode]], NUM, Cue("D", (4, 2.5), filled=False), size=7)
            with sheet.series("cost"):
                panel.curve(costs[mode], DEN, Cue("o"), 2.6)
    sheet.text(layout.width - 12, sheet.height - 6, label("positions"), "end", INK2)
    return sheet


def _limit(values: Values, mode: str) -> list[Mark]:
    return series(values, f"modes.{mode}.g#.break_even_ratio")


def _cost(values: Values, mode: str) -> list[tuple[float, float]]:
    """From the whole runs that the limit comes from."""
    return [ANCHOR, *((m.at + 1, m.value) for m in series(values, f"modes.{mode}.g#.verify_ratio"))]


COLUMNS = ("plain.tpot_ms", "plain.verify_ms", "over_bound", "best_gamma", "at_best.accept_length", "at_best.draft_ms", "at_best.verify_ratio", "at_best.break_even_ratio", "at_best.speedup")


def table(values: Values) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for mode in MODES:
        if value(values, f"modes.{mode}.plain.tpot_ms") is not None:
            rows.append((name(mode), *(key(values, f"modes.{mode}.{what}") for what in COLUMNS)))
    return Table(("mode", "tpot", "decode", "over_bound", "gamma", "accept", "draft", "cost_run", "limit_run", "speedup"), tuple(rows))


PLATE = Plate("modes", "modes.cheaper_pays_less", draw, table, wide=True, needs=("modes.cheapest", "modes.distinct_4gram_share", "modes.content", "modes.in_cheapest.plain.tpot_ms", "modes.eager.plain.tpot_ms"))
