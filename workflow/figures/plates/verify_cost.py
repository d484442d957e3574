"""What checking costs: one pass over several positions in units of one plain decode step, and how much it may cost."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.read import interval, series, word
from workflow.figures.scale import Scale, from_zero, nice_ticks
from workflow.figures.sheet import Panel, Point, Sheet, clear_side, label, number, spread
from workflow.figures.style import DEN, INK2, NUM, Cue, Layout, Token

HERE = 4
"""The width whose ratio is written out: three drafts and the anchor."""


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    cost = series(values, "window.verify_ratio.w#")
    if len(cost) < 2:
        return Missing(("window.verify_ratio.w*",))
    widest = cost[-1].at
    limits = {place: [(m.at + 1, m.value) for m in _limit(values, place) if m.at + 1 <= widest] for place in ("best", "worst")}
    highest = max(p[1] for p in [(m.at, m.value) for m in cost] + [p for line in limits.values() for p in line])
    margin, right = (36, 12) if layout.narrow else (48, 176)
    head = layout.text + 16
    height = 250 if layout.narrow else 300
    sheet = Sheet(layout, head + height + layout.text * 2 + 22)
    scale = from_zero([highest], 1.15)
    panel = Panel(sheet, margin, head, layout.width - margin - right, height, Scale(0.7, widest + 0.3), scale)
    sheet.text(0, layout.text + 1, label("ratio"), color=DEN, bold=True)
    panel.frame([m.at for m in cost], nice_ticks(scale, 4))
    with sheet.group("alone"):
        _alone(panel, widest, scale.hi)
    names = {f"limit_{place}": (points[-1], NUM) for place, points in limits.items() if points}
    for place, points in limits.items():
        if points:
            with sheet.group(f"limit-{place}"):
                panel.curve(points, NUM, Cue("s") if place == "best" else Cue("D", (4, 2.5), filled=False), size=7)
    with sheet.group("cost"):
        for mark in cost:
            if bounds := interval(mark.fact):
                panel.whisker(mark.at, *bounds, DEN)
        panel.curve([(m.at, m.value) for m in cost], DEN, Cue("o"), 2.8)
        _callout(panel, cost, [panel.y(y) for line in limits.values() for x, y in line if x == HERE])
    _names(panel, names | {"cost": ((cost[-1].at, cost[-1].value), DEN)})
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 14, label("positions"), "end", INK2)
    return sheet


def _limit(values: Values, place: str):
    content = word(values, f"window.{place}_content")
    return series(values, f"division.{content}.g#.break_even_ratio") if content else []


def _alone(panel: Panel, widest: int, top: float) -> None:
    """The line a pass would follow if every position cost a decode step of its own."""
    end = min(widest, top)
    panel.sheet.line([panel.at((1, 1)), panel.at((end, end))], INK2, 1.2, (2, 3))
    panel.sheet.text(panel.x(end) - 8, panel.y(end) + panel.sheet.layout.text, label("alone"), "end", INK2, halo=True)


def _names(panel: Panel, ends: dict[str, tuple[Point, Token]]) -> None:
    """Each line named at its right end: beside it on wide paper, above or below it on narrow paper, never on one another."""
    size = panel.sheet.layout.text
    lines = sorted(ends, key=lambda text: panel.y(ends[text][0][1]))
    heights = [panel.y(ends[text][0][1]) for text in lines]
    if panel.sheet.layout.narrow:
        sides = [clear_side(y, heights[:i] + heights[i + 1 :], panel.top - size, panel.bottom) for i, y in enumerate(heights)]
        if len(sides) > 1:
            sides[0], sides[-1] = -1, 1
        wanted = [y - 10 if side < 0 else y + size + 8 for y, side in zip(heights, sides)]
    else:
        wanted = [y + size * 0.35 for y in heights]
    places = spread(wanted, size + 4, panel.top, panel.bottom - 4)
    for text, place in zip(lines, places):
        color = ends[text][1]
        if panel.sheet.layout.narrow:
            panel.sheet.text(panel.right, place, label(text), "end", color, bold=text == "cost", halo=True)
        else:
            panel.sheet.text(panel.right + 10, place, label(text), color=color, bold=text == "cost")


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


PLATE = Plate("verify-cost", "figures.verify_cheap", draw, table, wide=True)
