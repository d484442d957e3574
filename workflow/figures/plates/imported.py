"""What imported rows serve: a row a line, its output throughput as a bar."""

from __future__ import annotations

from workflow.derive.shown import OF_ROW
from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import series, word
from workflow.figures.sheet import Sheet, label, number
from workflow.figures.style import AXIS, INK, INK2, RULE, Layout

BAR = 7
"""Height of a bar, in SVG units."""


def _shown(values: Values) -> list[tuple[int, float]]:
    """(place, output throughput) of the rows that have a name and a rate above zero."""
    found = series(values, "imported.r#.output_throughput")
    return [(mark.at, mark.value) for mark in found if mark.value > 0 and word(values, f"imported.r{mark.at}.name")]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = _shown(values)
    if not shown:
        return Missing(("imported.r*.output_throughput",))
    size = layout.text
    pitch, head = size + BAR + 16, size + 14
    sheet = Sheet(layout, head + pitch * len(shown) + 4)
    sheet.text(0, size + 1, label("row"), color=INK2)
    sheet.text(layout.width - 2, size + 1, label("output_throughput"), "end", INK2)
    sheet.line([(0, head - 4), (layout.width, head - 4)], AXIS, 1.2)
    longest = max(rate for _, rate in shown)
    for line, (place, rate) in enumerate(shown):
        y = head + pitch * line + size + 2
        with sheet.group(f"r{place}"):
            sheet.text(0, y, number(f"imported.r{place}.name"), color=INK)
            sheet.text(layout.width - 2, y, number(f"imported.r{place}.output_throughput"), "end", INK)
            sheet.rect(0, y + 5, layout.width, BAR, RULE)
            sheet.rect(0, y + 5, layout.width * rate / longest, BAR, INK)
    return sheet


def table(values: Values) -> Table:
    rows = [(key(values, f"imported.r{place}.name"), *(key(values, f"imported.r{place}.{part}") for part in OF_ROW)) for place, _ in _shown(values)]
    return Table(("row", *OF_ROW), tuple(rows))


PLATE = Plate("imported", "reefs.nothing_blocks", draw, table, needs=("imported.served", "reefs.fired", "reefs.blocking"))
