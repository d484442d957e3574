"""What the length of an answer changes: tokens a second in both lanes, and how many guesses are accepted."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.read import Mark, series
from workflow.figures.scale import Scale, from_zero, log_over, nice_ticks, thin
from workflow.figures.sheet import Panel, Sheet, gutter, label, number, spread
from workflow.figures.style import INK, INK2, LANE, NUM, Cue, Layout

LANES = ("plain", "dspark")
RATE = "osl.o#.{lane}.output_throughput"
ACCEPT = "osl.o#.dspark.accept_length"


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    rates = {lane: marks for lane in LANES if (marks := series(values, RATE.format(lane=lane)))}
    accepted = series(values, ACCEPT)
    if not rates or not accepted:
        return Missing((ACCEPT.replace("#", "*"), *(RATE.format(lane=lane).replace("#", "*") for lane in LANES)))
    up = {"throughput": from_zero([m.value for marks in rates.values() for m in marks], 1.15), "accept": from_zero([m.value for m in accepted], 1.45)}
    margin = gutter(layout, *(nice_ticks(scale, 3) for scale in up.values()))
    right, heights = (66, (130, 90)) if layout.narrow else (90, (170, 110))
    head = layout.text + 12
    sheet = Sheet(layout, 2 * head + sum(heights) + 18 + 2 * layout.text + 22)
    levels = sorted({m.at for marks in (*rates.values(), accepted) for m in marks})
    across, top = log_over(levels, 1.15), head
    for place, (name, height) in enumerate(zip(up, heights)):
        with sheet.group(f"over-{name}"):
            sheet.text(0, top - head + layout.text + 1, label(name), color=NUM if name == "accept" else INK, bold=True)
            panel = Panel(sheet, margin, top, layout.width - margin - right, height, across, up[name])
            panel.frame(thin(levels, 4 if layout.narrow else 8), nice_ticks(up[name], 3), xlabels=place == 1)
            _rates(panel, rates) if name == "throughput" else _accepted(panel, accepted)
        top += height + head + 18
    sheet.text(layout.width - right, sheet.height - 6, label("osl"), "end", INK2)
    return sheet


def _rates(panel: Panel, rates: dict[str, list[Mark]]) -> None:
    text = panel.sheet.layout.text
    heights = spread([panel.y(marks[-1].value) for marks in rates.values()], text + 4, panel.top, panel.bottom)
    for lane, marks in rates.items():
        with panel.sheet.series(lane):
            panel.evidence(marks, INK)
    panel.curves({lane: ([(m.at, m.value) for m in marks], LANE[lane]) for lane, marks in rates.items()}, INK, size=7)
    for lane, height in zip(rates, heights):
        with panel.sheet.series(lane):
            panel.sheet.text(panel.right + 6, height + text * 0.35, label(lane), bold=lane == "dspark")


def _accepted(panel: Panel, marks: list[Mark]) -> None:
    panel.evidence(marks, NUM)
    panel.curve([(m.at, m.value) for m in marks], NUM, Cue("o"), size=7)
    for mark, anchor in ((marks[0], "start"), (marks[-1], "end"))[: len(marks)]:
        x, y = panel.at((mark.at, _top(mark, panel.yscale)))
        panel.sheet.text(x, y - 9, number(mark.key + "|bare"), anchor, NUM, bold=True, halo=True)


def _top(mark: Mark, scale: Scale) -> float:
    """The highest ink of a mark, inside the panel."""
    return min(scale.hi, max(mark.value, mark.fact.hi or mark.value))


def table(values: Values) -> Table:
    columns = tuple(f"osl.o#.{lane}.{part}" for lane in LANES for part in ("output_throughput", "tpot_ms")) + (ACCEPT, "osl.o#.dspark.distinct_4gram_share")
    levels = sorted({m.at for pattern in columns for m in series(values, pattern)})
    rows = tuple((lit(level), *(key(values, pattern.replace("#", str(level))) for pattern in columns)) for level in levels)
    return Table(("osl", "plain_rate", "plain_tpot", "dspark_rate", "dspark_tpot", "accept", "distinct"), rows)


PLATE = Plate("output-length", "osl.tpot_flat", draw, table, needs=("osl.isl",))
