"""The prefix cache as a bet: throughput and time to first token without it and with it, on unrelated prompts and on a shared prefix."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import Mark, value
from workflow.figures.scale import Scale, from_zero, nice_ticks
from workflow.figures.sheet import Panel, Sheet, gutter, label, number, spread
from workflow.figures.style import DEN, INK, INK2, Cue, Layout, Token

TRAFFIC = {"random": Cue("o", (5, 3), filled=False), "shared": Cue("o")}
SIDES = ("off", "on")
PANELS = (("output_throughput", INK), ("ttft_ms", DEN))


def slopes(values: Values, part: str) -> dict[str, list[Mark]]:
    """Traffic -> what one figure is without the cache and with it; only where both are known."""
    found = {}
    for traffic in TRAFFIC:
        keys = [f"cache.{traffic}.{side}.{part}" for side in SIDES]
        if all(value(values, one) is not None for one in keys):
            found[traffic] = [Mark(at, one, value(values, one), values.get(one)) for at, one in enumerate(keys)]
    return found


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = [(part, color, found) for part, color in PANELS if (found := slopes(values, part))]
    if not shown:
        return Missing(tuple(f"cache.{traffic}.{side}.output_throughput" for traffic in TRAFFIC for side in SIDES))
    scales = [from_zero([m.value for marks in found.values() for m in marks], 1.12) for *_, found in shown]
    margin, names = gutter(layout, *(nice_ticks(scale, 3) for scale in scales)) + 4, 108
    head, height, foot = layout.text + 16, 150 if layout.narrow else 190, layout.text + 12
    across = layout.width if layout.narrow else layout.width / 2
    sheet = Sheet(layout, (head + height + foot) * (len(shown) if layout.narrow else 1) + 4 + (18 if layout.narrow else 0))
    for place, ((part, color, found), scale) in enumerate(zip(shown, scales)):
        left, top = (0, place * (head + height + foot + 18)) if layout.narrow else (place * (across + 8), 0)
        with sheet.group(part.replace("_", "-")):
            sheet.text(left, top + layout.text + 1, label(part), color=color, bold=True)
            _panel(Panel(sheet, left + margin, top + head, across - margin - names - 8, height, Scale(-0.12, 1.12), scale), found, color)
    return sheet


def _panel(panel: Panel, found: dict[str, list[Mark]], color: Token) -> None:
    sheet, size = panel.sheet, panel.sheet.layout.text
    panel.frame([], nice_ticks(panel.yscale, 3))
    for at, side in enumerate(SIDES):
        sheet.text(panel.x(at), panel.bottom + size + 6, label(side), "middle", INK2)
    for traffic, marks in found.items():
        with sheet.series(traffic):
            panel.evidence(marks, color)
    panel.curves({traffic: ([(m.at, m.value) for m in marks], TRAFFIC[traffic]) for traffic, marks in found.items()}, color)
    # a name and the figure with the cache take two lines at the end of each curve
    line = size + 3
    heights = spread([panel.y(marks[-1].value) for marks in found.values()], 2 * line + 6, panel.top + line / 2, panel.bottom - line / 2)
    for (traffic, marks), middle in zip(found.items(), heights):
        with sheet.series(traffic):
            sheet.text(panel.right + 4, middle - 2, label(traffic), color=INK2)
            sheet.text(panel.right + 4, middle - 2 + line, number(marks[-1].key), color=color, bold=True)


def table(values: Values) -> Table:
    parts = ("hit_rate", "off.output_throughput", "on.output_throughput", "ratio", "off.ttft_ms", "on.ttft_ms")
    rows = [(name(traffic), *(key(values, f"cache.{traffic}.{part}") for part in parts)) for traffic in TRAFFIC]
    return Table(("prompts", "hits", "rate_off", "rate_on", "ratio", "ttft_off", "ttft_on"), tuple(rows))


PLATE = Plate("cache-bet", "cache.wins_on_shared", draw, table, needs=("cache.isl", "cache.concurrency", "cache.random.ratio", "cache.shared.ratio"))
