"""The target's forward against the positions in it: a curve for each number of requests, its points the windows; dashed, the line fitted to all."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.read import series, value
from workflow.figures.scale import from_zero, log_over, nice_ticks, thin
from workflow.figures.sheet import Panel, Sheet, Stop, gutter, label
from workflow.figures.spots import box, clear
from workflow.figures.style import DEN, INK2, Cue, Layout

WIDTHS = tuple(range(1, 9))
STRAIGHT = 16
"""Strokes in which the fitted line is drawn: it bends, since the positions are spaced by their ratios."""


def curves(values: Values) -> dict[int, list[tuple[int, int, float]]]:
    """Requests in flight -> (positions, window, ms) from the narrowest window on."""
    found: dict[int, list[tuple[int, int, float]]] = {}
    for width in WIDTHS:
        for mark in series(values, f"positions.w{width}.c#.verify_ms"):
            at = value(values, f"positions.w{width}.c{mark.at}.count")
            if at is not None and at >= 1:
                found.setdefault(mark.at, []).append((round(at), width, mark.value))
    return dict(sorted(found.items()))


def fitted(values: Values, least: int, most: int) -> list[tuple[float, float]]:
    """(positions, ms) along the fitted line, as far as it lies above zero; none where there is no line, or one number of positions."""
    floor, slope = (value(values, f"positions.{part}_ms") for part in ("floor", "slope"))
    if floor is None or slope is None or least == most:
        return []
    along = [least * (most / least) ** (place / STRAIGHT) for place in range(STRAIGHT + 1)]
    return [(at, floor + slope * at) for at in along if floor + slope * at >= 0]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    found = curves(values)
    if not found:
        return Missing(("positions.w*.c*.verify_ms", "positions.w*.c*.count"))
    points = [point for line in found.values() for point in line]
    levels = sorted({at for at, *_ in points})
    line = fitted(values, levels[0], levels[-1])
    up = from_zero([ms for *_, ms in (*points, *line)], 1.1)
    margin, right = gutter(layout, nice_ticks(up, 4)), 40 if layout.narrow else 56
    height, head = (230 if layout.narrow else 300), layout.text + 14 + (layout.text + 5 if line and layout.narrow else 0)
    sheet = Sheet(layout, head + height + 2 * layout.text + 22)
    panel = Panel(sheet, margin, head, layout.width - margin - right, height, log_over(levels, 1.15), up)
    sheet.text(0, layout.text + 1, label("forward"), color=DEN, bold=True)
    panel.frame(thin(levels, 5 if layout.narrow else 9), nice_ticks(up, 4))
    sheet.stops = [Stop(panel.x(level), level, rows=tuple(row for row, (at, *_) in enumerate(points) if at == level)) for level in levels]
    if line:
        _fit(panel, line)
    panel.curves({str(level): ([(at, ms) for at, _, ms in curve], Cue("osD^vP"[place % 6])) for place, (level, curve) in enumerate(found.items())}, DEN, size=7)
    lines = [[panel.at((at, ms)) for at, _, ms in curve] for curve in found.values()]
    bent = [panel.at(point) for point in line]
    taken = [(panel.left, panel.bottom - 2, layout.width, sheet.height)] * 3  # sooner near another curve than on the axis
    for level, curve in zip(found, lines):
        others = [(x - 12, y - 12, x + 12, y + 12) for other in lines if other is not curve for x, y in other]  # whose number it might seem
        x, y, anchor = clear(curve[-1], str(level), layout.text, [*lines, bent], [*taken, *others])
        taken.append(box(x, y, str(level), layout.text, anchor))
        with sheet.series(str(level)):
            sheet.axis_text(x, y, str(level), anchor, halo=True)
    sheet.text(panel.right, sheet.height - 6, label("positions"), "end", INK2)
    return sheet


def _fit(panel: Panel, line: list[tuple[float, float]]) -> None:
    """The fitted line, and over the panel its floor and slope; on narrow paper on a line of their own."""
    sheet, size = panel.sheet, panel.sheet.layout.text
    sheet.line([panel.at(point) for point in line], INK2, 1.6, (5, 3))
    y, floor = (2 * size + 6, 0) if sheet.layout.narrow else (size + 1, sheet.width - 16 * size)
    sheet.text(floor, y, label("floor"), "start" if sheet.layout.narrow else "end", INK2)
    sheet.text(sheet.width, y, label("slope"), "end", INK2)


def table(values: Values) -> Table:
    rows = tuple(
        (lit(level), lit(width), *(key(values, f"positions.w{width}.c{level}.{part}") for part in ("count", "verify_ms", "step_ms")))
        for level, line in curves(values).items()
        for _, width, _ in line
    )
    return Table(("requests", "window", "positions", "forward", "step"), rows)


PLATE = Plate("positions", "positions.one_curve", draw, table, needs=("positions.cells",))
