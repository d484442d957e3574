"""Which lane serves more at the same load: throughput by concurrency above, the ratio of the two below."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.read import Mark, series, value
from workflow.figures.scale import around, from_zero, log_over, nice_ticks
from workflow.figures.sheet import Panel, Sheet, Stop, gutter, label, number, spread
from workflow.figures.style import INK2, LANE, RULE, Layout

LANES = ("plain", "dspark")


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    curves = {lane: marks for lane in LANES if (marks := series(values, f"lanes.c#.{lane}.output_throughput"))}
    ratios = series(values, "lanes.c#.ratio")
    if len(curves) < 2 or not ratios:
        return Missing(("lanes.c*.plain.output_throughput", "lanes.c*.dspark.output_throughput", "lanes.c*.ratio"))
    levels = sorted({m.at for marks in curves.values() for m in marks})
    across = log_over(levels, 1.18)
    top = from_zero([m.value for marks in curves.values() for m in marks], 1.1)
    margin, right = gutter(layout, nice_ticks(top, 4)), 66 if layout.narrow else 130
    upper, lower = (190, 130) if layout.narrow else (210, 140)
    head = layout.text + 14
    sheet = Sheet(layout, head * 2 + upper + lower + 18 + layout.text * 2 + 18)
    panel = Panel(sheet, margin, head, layout.width - margin - right, upper, across, top)
    with sheet.group("throughput"):
        sheet.text(0, layout.text + 1, label("throughput"), bold=True)
        panel.frame(levels, nice_ticks(top, 4), xlabels=False)
        sheet.stops = [Stop(panel.x(level), level) for level in levels]
        _throughput(panel, curves)
    air = layout.text + 20  # room for the numbers above the first and below the last mark
    pad = air / (lower - 2 * air)
    ratio = Panel(sheet, margin, panel.bottom + 18 + head, panel.width, lower, across, around([m.value for m in ratios] + [1.0], pad))
    with sheet.group("ratio"):
        sheet.text(0, panel.bottom + 18 + layout.text, label("ratio"), bold=True)
        _crossover(panel, ratio, value(values, "lanes.crossover"), levels)
        _ratio(ratio, ratios, levels, value(values, "noise.floor"), layout)
    sheet.text(ratio.right, ratio.bottom + layout.text * 2 + 13, label("concurrency"), "end", INK2)
    return sheet


def _throughput(panel: Panel, curves: dict[str, list[Mark]]) -> None:
    size = panel.sheet.layout.text
    places = spread([panel.y(marks[-1].value) for marks in curves.values()], size + 4, panel.top, panel.bottom)
    for lane, marks in curves.items():
        with panel.sheet.series(lane):
            panel.evidence(marks)
    panel.curves({lane: ([(m.at, m.value) for m in marks], LANE[lane]) for lane, marks in curves.items()})
    for lane, place in zip(curves, places):
        with panel.sheet.series(lane):
            panel.sheet.text(panel.right + 6, place + size * 0.35, label(lane), bold=lane == "dspark")


def _ratio(panel: Panel, ratios: list[Mark], levels: list[int], floor: float | None, layout: Layout) -> None:
    sheet = panel.sheet
    panel.frame(levels, [])
    panel.broken()
    if floor:
        top, bottom = panel.y(1 + floor / 100), panel.y(1 / (1 + floor / 100))
        sheet.rect(panel.left, top, panel.width, bottom - top, RULE)
        sheet.text(panel.right + 6, panel.y(1) + layout.text * 0.35, label("noise"), color=INK2)
    sheet.line([(panel.left, panel.y(1)), (panel.right, panel.y(1))], INK2, 1.2, (5, 3))
    sheet.axis_text(panel.left - 7, panel.y(1) + layout.text * 0.35, "1", "end")
    panel.evidence(ratios)
    panel.curve([(m.at, m.value) for m in ratios])
    shown = ratios if not layout.narrow else [ratios[0], ratios[-1]] if len(ratios) > 1 else ratios
    for mark in shown:
        x, y = panel.at((mark.at, mark.value))
        above = mark.value >= 1
        sheet.text(x, y - 11 if above else y + layout.text + 9, number(mark.key), "middle", bold=True, halo=True)


def _crossover(upper: Panel, lower: Panel, level: float | None, levels: list[int]) -> None:
    """A vertical line where the speculative lane last leads; none when it never does, or still does at the end."""
    if level is None or not levels[0] <= level < levels[-1]:
        return
    x, size = upper.x(level), upper.sheet.layout.text
    upper.sheet.line([(x, upper.top), (x, upper.bottom)], INK2, 1.2, (2, 3))
    lower.sheet.line([(x, lower.top + 4), (x, lower.bottom)], INK2, 1.2, (2, 3))
    left = x - upper.left > size * 7.4
    # to the right the curves are high, and the room is below them
    first = upper.top - 4 if left else upper.bottom - 2 * (size + 3) - 9
    for line, text in enumerate(("crossover_one", "crossover_two"), 1):
        upper.sheet.text(x - 8 if left else x + 8, first + line * (size + 3), label(text), "end" if left else "start", INK2, halo=True)


def table(values: Values) -> Table:
    levels = sorted({m.at for lane in LANES for m in series(values, f"lanes.c#.{lane}.output_throughput")})
    columns = ("concurrency", "plain_tps", "dspark_tps", "ratio", "plain_tpot", "dspark_tpot", "plain_ttft", "dspark_ttft")
    rows = []
    for level in levels:
        row = f"lanes.c{level}"
        keys = (f"{row}.plain.output_throughput", f"{row}.dspark.output_throughput", f"{row}.ratio", f"{row}.plain.tpot_ms",
                f"{row}.dspark.tpot_ms", f"{row}.plain.ttft_ms", f"{row}.dspark.ttft_ms")
        rows.append((lit(level), *(key(values, k) for k in keys)))
    return Table(columns, tuple(rows))


PLATE = Plate("lanes", "lanes.crossover_exists", draw, table, wide=True, needs=("lanes.at_one.plain.tpot_ms", "lanes.at_most.plain.tpot_ms"))
