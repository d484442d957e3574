"""The memory ceiling: shares of the budget that were tried, how their waves ended, what the first boot
foretold, and the stack of pools and peak where the search settled."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import row_label
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import Mark, series, value, word
from workflow.figures.scale import Scale, around, nice_ticks
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import DEN, INK, INK2, RULE, Layout

LANES = ("plain", "dspark")
PREDICTIONS = ("floor", "floor_less_peak")
BUDGET, BAR = 100.0, 13
"""Percent, and the height of a bar in SVG units."""
SERVED, RAN_OUT = "survived", "ran-out"


def tries(values: Values, lane: str) -> list[Mark]:
    """The fractions tried in one lane; only those with an outcome."""
    return [mark for mark in series(values, f"memory.{lane}.t#.fraction") if word(values, outcome(lane, mark))]


def outcome(lane: str, mark: Mark) -> str:
    return f"memory.{lane}.t{mark.at}.outcome"


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    lanes = [lane for lane in LANES if tries(values, lane)]
    if not lanes:
        return Missing(("memory.*.t*.fraction", "memory.*.t*.outcome"))
    rows = [(lane, what) for lane in lanes for what in ("tried", *PREDICTIONS) if what == "tried" or value(values, f"memory.{lane}.{what}") is not None]
    known = [mark.value for lane in lanes for mark in tries(values, lane)]
    known += [value(values, f"memory.{lane}.{what}") for lane, what in rows if what != "tried"]
    left, right = (2, 62) if layout.narrow else (212, 76)
    pitch = layout.text + 26 if layout.narrow else 31
    stacks = [lane for lane in lanes if None not in stack(values, lane)]
    height = 8 + pitch * len(rows) + layout.text * 2 + 22
    sheet = Sheet(layout, height + (pitch * len(stacks) + layout.text * 2 + 30 if stacks else 0))
    panel = Panel(sheet, left, 4, layout.width - left - right, pitch * len(rows) + 4, around(known, 0.07), Scale(0, 1))
    for place, (lane, what) in enumerate(rows):
        y = panel.top + pitch * (place + 1) - 12
        with sheet.group(f"{lane}-{what}".replace("_", "-")):
            row_label(panel, y, f"{lane}_{what}", bold=what == "tried")
            sheet.line([(panel.left, y), (panel.right, y)], RULE, 1.0)
            if what == "tried":
                _tries(panel, values, lane, y)
            else:
                _prediction(panel, values, f"memory.{lane}.{what}", y)
    panel.frame(nice_ticks(panel.xscale, 4 if layout.narrow else 6))
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("axis"), "end", INK2)
    if stacks:
        edge = max(left, 6)  # a zero is centred on it
        _stacks(Panel(sheet, edge, height + 4, panel.right - edge, pitch * len(stacks) + 4, Scale(0, BUDGET), Scale(0, 1)), values, stacks, pitch)
    return sheet


def stack(values: Values, lane: str) -> tuple[float | None, float | None]:
    """Percent of the budget that the boot took, and the peak on top of it, where the search settled."""
    return value(values, f"memory.{lane}.boot_share"), value(values, f"memory.{lane}.peak_share")


def _stacks(panel: Panel, values: Values, lanes: list[str], pitch: float) -> None:
    """A bar a lane from zero: pools, then peak, on the pale ground of the budget."""
    for place, lane in enumerate(lanes):
        y = panel.top + pitch * (place + 1) - 12
        boot, peak = stack(values, lane)
        with panel.sheet.group(f"{lane}-stack"):
            row_label(panel, y, f"{lane}_stack")
            panel.bar(boot, y, BAR, INK2)
            panel.sheet.rect(panel.x(boot), y - BAR / 2, panel.x(peak) - panel.left, BAR, DEN)
            panel.sheet.text(panel.sheet.width, y + panel.sheet.layout.text * 0.35, number(f"memory.{lane}.peak_share"), "end", DEN)
    panel.frame([0, 50, 100])
    panel.sheet.text(panel.right, panel.bottom + panel.sheet.layout.text * 2 + 13, label("axis"), "end", INK2)


def _tries(panel: Panel, values: Values, lane: str, y: float) -> None:
    """Marks differ by shape, not by colour alone."""
    ended: dict[str, list[tuple[float, float]]] = {}
    for mark in tries(values, lane):
        ended.setdefault(str(word(values, outcome(lane, mark))), []).append((panel.x(mark.value), y))
    for how, points in ended.items():
        shape, color, filled = {SERVED: ("o", INK, True), RAN_OUT: ("x", DEN, True)}.get(how, ("o", INK2, False))
        panel.sheet.marks(points, shape, color, 9, filled)


def _prediction(panel: Panel, values: Values, fact: str, y: float) -> None:
    panel.sheet.marks([(panel.x(value(values, fact)), y)], "v", INK2, 9, False)
    panel.sheet.text(panel.sheet.width, y + panel.sheet.layout.text * 0.35, number(fact), "end")


def columns(values: Values) -> tuple[str, ...]:
    """What the table says of a try; what failed allocations reported where any did."""
    told = any(value(values, f"memory.{lane}.t{mark.at}.asked") is not None for lane in LANES for mark in tries(values, lane))
    return ("fraction", "free", "outcome", *(("asked", "free_at_fault") if told else ()))


def table(values: Values) -> Table:
    rows, shown = [], columns(values)
    rest = (key(values, "-"),) * (len(shown) - 1)
    for lane in LANES:
        for mark in tries(values, lane):
            rows.append((name(f"{lane}_tried"), *(key(values, f"memory.{lane}.t{mark.at}.{what}") for what in shown)))
        for what in PREDICTIONS:
            if value(values, f"memory.{lane}.{what}") is not None:
                rows.append((name(f"{lane}_{what}"), key(values, f"memory.{lane}.{what}"), *rest))
        for what in ("boot", "peak") if None not in stack(values, lane) else ():
            rows.append((name(f"{lane}_{what}"), key(values, f"memory.{lane}.{what}_share"), *rest))
    return Table(("what", *shown), tuple(rows))


PLATE = Plate("memory-wall", "memory.floor_overshoots", draw, table, needs=("memory.device_bytes",))
