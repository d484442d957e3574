"""Detectors of measuring hazards that fired: the gravest on top, each with the number of rows that show it."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import series, word
from workflow.figures.sheet import Sheet, label, number
from workflow.figures.style import AXIS, DEN, INK, INK2, RULE, Layout

COLOR = {"blocking": DEN, "warning": INK, "note": INK2}


def _shown(values: Values) -> list[int]:
    return [mark.at for mark in series(values, "reefs.f#.rows") if word(values, f"reefs.f{mark.at}.name")]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = _shown(values)
    if not shown:
        return Missing(("reefs.f*.name",))
    size = layout.text
    pitch, head = size + 11, size + 14
    sheet = Sheet(layout, head + pitch * len(shown) + 8)
    right = layout.width - 2
    sheet.text(0, size + 1, label("detector"), color=INK2)
    sheet.text(right, size + 1, label("rows"), "end", INK2)
    sheet.line([(0, head - 4), (layout.width, head - 4)], AXIS, 1.2)
    for line, place in enumerate(shown):
        y = head + pitch * line + size + 2
        severity = word(values, f"reefs.f{place}.severity")
        color = COLOR.get(severity or "", INK)
        with sheet.group(f"f{place}"):
            sheet.marks([(7, y - size * 0.35)], {"blocking": "s", "warning": "^"}.get(severity or "", "o"), color, 9, severity != "note")
            sheet.text(20, y, number(f"reefs.f{place}.name"), color=color, bold=severity == "blocking")
            sheet.text(right, y, number(f"reefs.f{place}.rows"), "end", color)
            sheet.line([(0, y + 7), (layout.width, y + 7)], RULE, 1.0)
    return sheet


def table(values: Values) -> Table:
    rows = [tuple(key(values, f"reefs.f{place}.{what}") for what in ("name", "severity", "rows", "said")) for place in _shown(values)]
    return Table(("detector", "severity", "rows", "said"), tuple(rows))


PLATE = Plate("reefs", "reefs.nothing_blocks", draw, table, needs=("reefs.detectors", "reefs.fired", "reefs.blocking", "reefs.warning", "reefs.note"))
