"""Where to stop: what the server gains and what each request pays as more of them run at once."""

from __future__ import annotations

import re

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import LANES, series, value, word
from workflow.figures.scale import Scale, from_zero, log_over, nice_ticks, thin
from workflow.figures.sheet import Panel, Sheet, Stop, gutter, label, spread
from workflow.figures.spots import Box, box, clear
from workflow.figures.style import INK, INK2, LANE, Layout

DRAWN = ("plain", "dspark")


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    frontier = {lane: points for lane in DRAWN if (points := _frontier(values, lane))}
    waits = {lane: marks for lane in DRAWN if (marks := series(values, f"scale.{lane}.c#.ttft_ms"))}
    if not frontier:
        return Missing(("scale.*.c*.output_throughput", "scale.*.c*.per_request_tokens_per_s"))
    head = layout.text + 14
    totals = from_zero([p[2] for line in frontier.values() for p in line], 1.12)
    delays = from_zero([m.value for line in waits.values() for m in line], 1.1)
    margin = gutter(layout, nice_ticks(totals, 4), nice_ticks(delays, 4) if layout.narrow else ())
    if layout.narrow:
        boxes = ((margin, head, layout.width - margin - 14, 210), (margin, head * 2 + 210 + layout.text * 2 + 34, layout.width - margin - 62, 120))
    else:
        inner = margin + 350 + 30 + gutter(layout, nice_ticks(delays, 4))
        boxes = ((margin, head, 350, 300), (inner, head, layout.width - inner - 90, 300))
    bottom = max(top + height for _, top, _, height in boxes)
    sheet = Sheet(layout, bottom + layout.text * 2 + 22)
    with sheet.group("frontier"):
        _draw_frontier(sheet, boxes[0], totals, frontier, values)
    with sheet.group("wait"):
        _draw_wait(sheet, boxes[1], delays, waits)
    return sheet


def _frontier(values: Values, lane: str) -> list[tuple[int, float, float]]:
    """(concurrency, tokens/s of one request, tokens/s of the server)."""
    rates = {m.at: m.value for m in series(values, f"scale.{lane}.c#.per_request_tokens_per_s")}
    return [(m.at, rates[m.at], m.value) for m in series(values, f"scale.{lane}.c#.output_throughput") if m.at in rates]


def _draw_frontier(sheet: Sheet, box: tuple, up: Scale, frontier: dict, values: Values) -> None:
    layout = sheet.layout
    points = [p for line in frontier.values() for p in line]
    across = from_zero([p[1] for p in points], 1.3)
    panel = Panel(sheet, *box, across, up)
    sheet.text(0, layout.text + 1, label("throughput"), bold=True)
    panel.frame(nice_ticks(across, 4), nice_ticks(up, 4))
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("per_request"), "end", INK2)
    panel.curves({lane: ([p[1:] for p in line], LANE[lane]) for lane, line in frontier.items()})
    names = _lane_names(panel, {lane: line[0][1:] for lane, line in frontier.items()})
    _levels(panel, frontier, {lane: _knees(values, lane) for lane in frontier}, names)


def _levels(panel: Panel, frontier: dict, knees: dict[str, set[int]], taken: list[Box]) -> None:
    """The concurrency of each knee, ringed, and of each lane's last point, where no line runs through it."""
    size = panel.sheet.layout.text
    lines = [[panel.at(p[1:]) for p in line] for line in frontier.values()]
    edges = [(panel.left - 60, panel.top - 60, panel.left, panel.bottom + 60), (panel.left, panel.bottom, panel.right, panel.bottom + 60)]
    rounds = [(x - 5, y - 5, x + 5, y + 5) for line in lines for x, y in line]
    taken = [*taken, *edges, *rounds]
    for (lane, line), drawn in zip(frontier.items(), lines):
        for (level, *_), mark in zip(line, drawn):
            with panel.sheet.series(lane):
                if level in knees[lane]:
                    panel.sheet.ring(mark)
                if level in (*knees[lane], line[-1][0]):
                    x, y, anchor = clear(mark, str(level), size, lines, taken)
                    taken.append(box(x, y, str(level), size, anchor))
                    panel.sheet.axis_text(x, y, str(level), anchor, halo=True)


def _knees(values: Values, lane: str) -> set[int]:
    """The concurrency of the knee, or all that tie for it."""
    tied = word(values, f"scale.{lane}.knee_tied")
    knee = value(values, f"scale.{lane}.knee")
    return {int(level) for level in re.findall(r"\d+", tied)} if tied else {round(knee)} if knee else set()


def _lane_names(panel: Panel, firsts: dict[str, tuple[float, float]]) -> list[Box]:
    """Each lane is named at its one-request end, to the right; names that would touch are moved apart. Returns the room they take."""
    size = panel.sheet.layout.text
    spots = {lane: panel.at(point) for lane, point in firsts.items()}
    heights = [y + size * 0.35 for _, y in spots.values()]
    columns = [x for x, _ in spots.values()]
    if max(columns) - min(columns) < size * 5.5:
        heights = spread(heights, size + 4, panel.top, panel.bottom - 4)
    for (lane, (x, _)), y in zip(spots.items(), heights):
        with panel.sheet.series(lane):
            panel.sheet.text(x + 11, y, label(lane), bold=lane == "dspark", halo=True)
    return [box(x + 11, y, "x" * 7, size, "start") for (x, _), y in zip(spots.values(), heights)]


def _draw_wait(sheet: Sheet, box: tuple, up: Scale, waits: dict) -> None:
    layout = sheet.layout
    left, top, _, height = box
    sheet.text(0 if layout.narrow else left - gutter(layout, nice_ticks(up, 4)), top - 13, label("ttft"), bold=True)
    marks = [m for line in waits.values() for m in line]
    if not marks:
        sheet.text(left, top + height / 2, label("absent"), color=INK2)
        return
    levels = sorted({m.at for m in marks})
    panel = Panel(sheet, *box, log_over(levels, 1.2), up)
    panel.frame(thin(levels, 4), nice_ticks(panel.yscale, 4))
    sheet.stops = [Stop(panel.x(level), level) for level in levels]
    places = spread([panel.y(line[-1].value) for line in waits.values()], layout.text + 4, panel.top, panel.bottom)
    panel.curves({lane: ([(m.at, m.value) for m in line], LANE[lane]) for lane, line in waits.items()}, INK, size=7)
    for lane, place in zip(waits, places):
        with sheet.series(lane):
            sheet.text(panel.right + 6, place + layout.text * 0.35, label(lane), bold=lane == "dspark")
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("concurrency"), "end", INK2)


def table(values: Values) -> Table:
    columns = ("output_throughput", "per_request_tokens_per_s", "ttft_ms", "tpot_ms", "achieved")
    rows = []
    for lane in LANES:
        levels = sorted({m.at for part in columns for m in series(values, f"scale.{lane}.c#.{part}")})
        rows += [(name(lane), lit(level), *(key(values, f"scale.{lane}.c{level}.{part}") for part in columns)) for level in levels]
    return Table(("lane", "concurrency", "throughput", "per_request", "ttft", "tpot", "achieved"), tuple(rows))


PLATE = Plate("scaling", "scale.knee", draw, table)
