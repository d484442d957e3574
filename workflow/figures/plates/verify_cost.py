"""What checking costs: one pass over several positions in units of one plain decode step, and how much it may cost."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.read import series, word
from workflow.figures.scale import Scale, from_zero, nice_ticks
from workflow.figures.sheet import Panel, Point, Sheet, Stop, clear_side, gutter, label, number, spread
from workflow.figures.style import DEN, INK2, NUM, Cue, Layout

HERE = 4
"""The width whose ratio is written out: three drafts and the anchor."""


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    cost = series(values, "window.verify_ratio.w#")
    if len(cost) < 2:
        return Missing(("window.verify_ratio.w*",))
    widest = cost[-1].at
    limits = {place: [(m.at + 1, m.value) for m in _limit(values, place) if m.at + 1 <= widest] for place in ("best", "worst")}
    highest = max(p[1] for p in [(m.at, m.value) for m in cost] + [p for line in limits.values() for p in line])
    scale = from_zero([highest], 1.15)
    margin, right = gutter(layout, nice_ticks(scale, 4)), 12 if layout.narrow else 176
    head = layout.text + 16
    height = 250 if layout.narrow else 300
    sheet = Sheet(layout, head + height + layout.text * 2 + 22)
    panel = Panel(sheet, margin, head, layout.width - margin - right, height, Scale(0.7, widest + 0.3), scale)
    sheet.text(0, layout.text + 1, label("ratio"), color=DEN, bold=True)
    panel.frame([m.at for m in cost], nice_ticks(scale, 4))
    sheet.stops = [Stop(panel.x(m.at), m.at) for m in cost]
    lines = {f"limit_{place}": (points, NUM) for place, points in limits.items() if points}
    lines["cost"] = ([(m.at, m.value) for m in cost], DEN)
    heights = _heights(panel, {text: points for text, (points, _) in lines.items()})
    with sheet.group("alone"), sheet.series("alone"):
        _alone(panel, widest, scale.hi, list(heights.values()) if layout.narrow else [])
    for place, points in limits.items():
        if points:
            with sheet.group(f"limit-{place}"), sheet.series(f"limit_{place}"):
                panel.curve(points, NUM, Cue("s") if place == "best" else Cue("D", (4, 2.5), filled=False), size=7)
    with sheet.group("cost"), sheet.series("cost"):
        panel.evidence(cost, DEN)
        panel.curve([(m.at, m.value) for m in cost], DEN, Cue("o"), 2.8)
        _callout(panel, cost, [panel.y(y) for line in limits.values() for x, y in line if x == HERE])
    for text, (_, color) in lines.items():
        x, anchor = (panel.right, "end") if layout.narrow else (panel.right + 10, "start")
        with sheet.series(text):
            sheet.text(x, heights[text], label(text), anchor, color, bold=text == "cost", halo=layout.narrow)
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 14, label("positions"), "end", INK2)
    return sheet


def _limit(values: Values, place: str):
    content = word(values, f"window.{place}_content")
    return series(values, f"division.{content}.g#.break_even_ratio") if content else []


def _alone(panel: Panel, widest: int, top: float, taken: list[float]) -> None:
    """The line a pass would follow if every position cost a decode step of its own; named where no other name stands."""
    sheet, size = panel.sheet, panel.sheet.layout.text
    end = min(widest, top)
    sheet.line([panel.at((1, 1)), panel.at((end, end))], INK2, 1.2, (2, 3))
    wanted = [panel.top + size * (1 + 0.5 * step) for step in range(8)]
    y = next((y for y in wanted if all(abs(y - other) > size + 3 for other in taken)), wanted[0])
    # the diagonal's own x at the top of the text, so that the name stays to its left
    value = top * (panel.bottom - y + size) / panel.height
    x = panel.x(min(end, value)) - 10 - size * 0.3
    if x - size * 6 > 0:
        sheet.text(x, y, label("alone"), "end", INK2, halo=True)
    else:
        sheet.text(panel.x(min(end, value)) + 8, y, label("alone"), color=INK2, halo=True)


def _heights(panel: Panel, lines: dict[str, list[Point]]) -> dict[str, float]:
    """Baselines of the lines' names at their right end: level with them on wide paper, above or below on narrow paper, never on one another."""
    size = panel.sheet.layout.text
    names = sorted(lines, key=lambda text: panel.y(lines[text][-1][1]))
    ends = [panel.y(lines[text][-1][1]) for text in names]
    wanted = [y + size * 0.35 for y in ends]
    if panel.sheet.layout.narrow:
        for place, text in enumerate(names):
            # the stretch of the line that the name runs along
            along = [panel.y(y) for x, y in lines[text] if panel.x(x) > panel.right - size * 10] or [ends[place]]
            side = clear_side(ends[place], ends[:place] + ends[place + 1 :], panel.top - size, panel.bottom)
            if len(names) > 1 and place in (0, len(names) - 1):
                side = -1 if place == 0 else 1
            wanted[place] = min(along) - 10 if side < 0 else max(along) + size + 6
    return dict(zip(names, spread(wanted, size + 4, panel.top, panel.bottom - 4)))


def _callout(panel: Panel, cost: list, others: list[float]) -> None:
    """The ratio at one width in digits, on the side where there is more room."""
    size = panel.sheet.layout.text
    for mark in cost:
        if mark.at == HERE:
            x, y = panel.at((mark.at, mark.value))
            side = clear_side(y, others, panel.top, panel.bottom)
            panel.sheet.text(x, y - 14 if side < 0 else y + size + 14, number(mark.key), "middle", DEN, panel.sheet.layout.big, bold=True, halo=True)


def table(values: Values) -> Table:
    rows = []
    for mark in series(values, "window.verify_ratio.w#"):
        gamma = mark.at - 1
        limits = [key(values, f"division.{word(values, f'window.{place}_content')}.g{gamma}.break_even_ratio") for place in ("best", "worst")]
        rows.append((lit(mark.at), key(values, mark.key), *limits))
    return Table(("positions", "ratio", "limit_best", "limit_worst"), tuple(rows))


PLATE = Plate("verify-cost", "figures.verify_cheap", draw, table, needs=("window.decode_ms", "window.best_content", "window.worst_content"))
