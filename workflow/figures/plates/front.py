"""The lanes' frontier: what the server gives against what a token takes, a line for each lane at its own block size, a mark for each load."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import series, value
from workflow.figures.scale import from_zero, nice_ticks
from workflow.figures.sheet import Panel, Point, Sheet, gutter, label
from workflow.figures.spots import box, clear
from workflow.figures.style import INK2, LANE, Layout

LANES = ("plain", "dspark", "dflash", "mtp", "lookup")


def curves(values: Values) -> dict[str, dict[int, Point]]:
    """Lane -> place of the load -> (ms a token, tokens/s), from the fewest requests in flight up."""
    found: dict[str, dict[int, Point]] = {}
    for lane in LANES:
        times = {mark.at: mark.value for mark in series(values, f"lanes.front.t#.{lane}.tpot_ms")}
        rates = series(values, f"lanes.front.t#.{lane}.output_throughput")
        if points := {mark.at: (times[mark.at], mark.value) for mark in rates if mark.at in times}:
            found[lane] = points
    return found


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    known = curves(values)
    if len(known) < 2:
        return Missing(("lanes.front.t*.*.output_throughput", "lanes.front.t*.*.tpot_ms"))
    points = [point for line in known.values() for point in line.values()]
    across, up = from_zero([x for x, _ in points], 1.1), from_zero([y for _, y in points], 1.1)
    margin, height = gutter(layout, nice_ticks(up, 4)), 220 if layout.narrow else 290
    columns = 3 if layout.narrow else len(known)
    names = (layout.text + 8) * -(-len(known) // columns)
    head = names + layout.text + 22
    sheet = Sheet(layout, head + height + layout.text * 2 + 18)
    panel = Panel(sheet, margin, head, layout.width - margin - 18, height, across, up)
    sheet.text(0, names + layout.text + 6, label("throughput"), bold=True)
    panel.frame(nice_ticks(across, 4), nice_ticks(up, 4))
    panel.curves({lane: (list(line.values()), LANE[lane]) for lane, line in known.items()})
    _names(sheet, list(known), columns)
    first = next(iter(known))
    with sheet.series(first):
        _loads(panel, known, first, values)
    sheet.text(panel.right, sheet.height - 6, label("tpot"), "end", INK2)
    return sheet


def _names(sheet: Sheet, lanes: list[str], columns: int) -> None:
    """What each mark stands for: marks of several lanes may lie on one another, so no name would find room beside its line."""
    size = sheet.layout.text
    for place, lane in enumerate(lanes):
        x, y = 6 + place % columns * sheet.width / columns, (place // columns + 1) * (size + 8) - 6
        cue = LANE[lane]
        with sheet.series(lane):
            sheet.marks([(x, y - size * 0.35)], cue.marker, filled=cue.filled)
            sheet.text(x + 11, y, label(lane), bold=lane == "dspark")


def _loads(panel: Panel, known: dict[str, dict[int, Point]], lane: str, values: Values) -> None:
    """Requests in flight beside the marks of one lane, where no line runs through them."""
    size = panel.sheet.layout.text
    lines = [[panel.at(point) for point in line.values()] for line in known.values()]
    own = [panel.at(point) for point in known[lane].values()]
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in own]
    taken += [(x - 10, y - 10, x + 10, y + 10) for line in lines if line != own for x, y in line]  # whose number it might seem
    taken += [(panel.left - 60, panel.bottom - 2, panel.right + 60, panel.bottom + 60), (panel.left - 60, panel.top - 60, panel.right + 60, panel.top - 12)]
    for place, point in known[lane].items():
        level = value(values, f"lanes.front.t{place}.concurrency")
        if level is None:
            continue
        text = f"{level:.0f}"
        x, y, anchor = clear(panel.at(point), text, size, lines, taken)
        taken.append(box(x, y, text, size, anchor))
        panel.sheet.axis_text(x, y, text, anchor, halo=True)


def table(values: Values) -> Table:
    known = curves(values)
    places = sorted({place for line in known.values() for place in line})
    rows = []
    for place in places:
        load = f"lanes.front.t{place}"
        for lane in (lane for lane, line in known.items() if place in line):
            what = ("output_throughput", "tpot_ms", "ttft_ms")
            rows.append((key(values, f"{load}.{lane}.arm"), key(values, f"{load}.concurrency"), *(key(values, f"{load}.{lane}.{one}") for one in what)))
    return Table(("arm", "concurrency", "throughput", "tpot", "ttft"), tuple(rows))


PLATE = Plate("front", "lanes.front_alone.tpot", draw, table, needs=("lanes.front.boots",))
