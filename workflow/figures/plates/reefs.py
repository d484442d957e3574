"""Detectors of measuring hazards that fired, the gravest on top, each with the rows that show it; beside the gravest that show in two numbers of
one quantity, what rows said and what was true."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.read import series, value, word
from workflow.figures.scale import Scale, from_zero
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import AXIS, DEN, INK, INK2, RULE, Layout, Token

COLOR = {"blocking": DEN, "warning": INK, "note": INK2}
SIDES = ("said", "true")
PAIRS = 5
"""Detectors that show their two numbers, at most."""
TALL = 44
"""Height of a drawing of pairs, in SVG units."""


def _shown(values: Values) -> list[int]:
    return [mark.at for mark in series(values, "reefs.f#.rows") if word(values, f"reefs.f{mark.at}.name")]


def _pairs(values: Values, place: int) -> list[tuple[float, float]]:
    """(what a row said, what was true) of the detector in this place; none where it does not show in two numbers."""
    reef = f"reefs.pair.{word(values, f'reefs.f{place}.name')}"
    if any(value(values, f"{reef}.{side}") is None for side in SIDES):
        return []
    said, true = ({mark.at: mark.value for mark in series(values, f"{reef}.r#.{side}") if mark.value >= 0} for side in SIDES)
    return [(said[row], true[row]) for row in said if row in true]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    shown = _shown(values)
    if not shown:
        return Missing(("reefs.f*.name",))
    size = layout.text
    pitch, head = size + 11, size + 14
    paired = dict([(place, pairs) for place in shown if (pairs := _pairs(values, place))][:PAIRS])
    more = TALL + (size + 16 if layout.narrow else 0)
    sheet = Sheet(layout, head + (size + 8) * (bool(paired) and layout.narrow) + pitch * len(shown) + more * len(paired) + 8)
    right = layout.width - 2
    sheet.text(0, size + 1, label("detector"), color=INK2)
    sheet.text(right, size + 1, label("rows"), "end", INK2)
    if paired:
        _heads(sheet)
        head += (size + 8) * layout.narrow
    sheet.line([(0, head - 4), (layout.width, head - 4)], AXIS, 1.2)
    top = head
    for place in shown:
        y = top + size + 2
        severity = word(values, f"reefs.f{place}.severity")
        color = COLOR.get(severity or "", INK)
        with sheet.group(f"f{place}"):
            sheet.marks([(7, y - size * 0.35)], {"blocking": "s", "warning": "^"}.get(severity or "", "o"), color, 9, severity != "note")
            sheet.text(20, y, number(f"reefs.f{place}.name"), color=color, bold=severity == "blocking")
            sheet.text(right, y, number(f"reefs.f{place}.rows"), "end", color)
            if place in paired:
                _said_and_true(sheet, word(values, f"reefs.f{place}.name"), paired[place], y, color)
                top += more
            top += pitch
            sheet.line([(0, top - 4), (layout.width, top - 4)], RULE, 1.0)
    return sheet


def _columns(layout: Layout) -> tuple[float, float]:
    """Where the numbers that were said and that were true end."""
    return (238, 316) if layout.narrow else (560, 646)


def _heads(sheet: Sheet) -> None:
    """The two marks, named once, over the numbers that they stand for; on narrow paper on a line of their own."""
    size = sheet.layout.text
    y = size + 1 + (size + 8) * sheet.layout.narrow
    for side, x in zip(SIDES, _columns(sheet.layout)):
        sheet.text(x, y, label(side), "end", INK2 if side == "said" else INK)


def _said_and_true(sheet: Sheet, reef: str, pairs: list[tuple[float, float]], y: float, color: Token) -> None:
    """What two numbers these are, a stroke from one to the other for each row, and the row where they lie farthest apart in digits."""
    layout, size = sheet.layout, sheet.layout.text
    sheet.text(20, y + size + 6, label(f"pair_{reef}"), color=INK2)
    top = y + size + 16 if layout.narrow else y - 4
    left, width = (26, 120) if layout.narrow else (330, 150)
    panel = Panel(sheet, left, top, width, TALL, Scale(0.5, len(pairs) + 0.5), from_zero([number for pair in pairs for number in pair]))
    panel.frame()
    spots = {side: [panel.at((row, pair[at])) for row, pair in enumerate(pairs, 1)] for at, side in enumerate(SIDES)}
    for ends in zip(*spots.values()):
        sheet.line(ends, color, 1.6)
    sheet.marks(spots["said"], "o", INK2, 6, filled=False)
    sheet.marks(spots["true"], "o", color, 6)
    for side, x in zip(SIDES, _columns(layout)):
        sheet.text(x, top + TALL / 2 + size * 0.35, number(f"reefs.pair.{reef}.{side}"), "end", INK2 if side == "said" else color, bold=side == "true")


def table(values: Values) -> Table:
    parts = ("name", "severity", "rows", "said")
    rows = [
        (*(key(values, f"reefs.f{place}.{what}") for what in parts), *(key(values, f"reefs.pair.{word(values, f'reefs.f{place}.name')}.{side}") for side in SIDES))
        for place in _shown(values)
    ]
    return Table(("detector", "severity", "rows", "evidence", *SIDES), tuple(rows))


PLATE = Plate("reefs", "reefs.nothing_blocks", draw, table, needs=("reefs.detectors", "reefs.fired", "reefs.blocking", "reefs.warning", "reefs.note"))
