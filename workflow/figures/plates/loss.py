"""Where the extra end-to-end time of a long input goes: a waterfall whose terms add up to the whole, and what would be left of the whole without each."""

from __future__ import annotations

from dataclasses import dataclass

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import absent, value
from workflow.figures.scale import Scale, nice_ticks
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import AXIS, DEN, INK, INK2, NUM, RULE, Layout, Token

TERMS = (("prefill", INK2), ("step", DEN), ("accept", NUM), ("rest", AXIS))


@dataclass(frozen=True)
class Row:
    """One bar: where it starts and ends in ms, and the fact that it states."""

    name: str
    key: str
    start: float
    end: float
    color: Token
    share: str = ""
    fixed: float | None = None
    """The whole of the long input, in ms, had this part alone stayed as in the short one."""


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    first, last = "loss.from_ms", "loss.to_ms"
    needed = (first, last, *(f"loss.{term}_ms" for term, _ in TERMS[:3]))
    if gone := absent(values, needed):
        return Missing(gone)
    rows = _rows(values, first, last)
    reached = [end for row in rows for end in (row.start, row.end, row.fixed) if end is not None]
    scale = Scale(min(0.0, *reached), max(1e-6, *reached) * 1.02)
    label_room, number_room = (6, 78) if layout.narrow else (176, 214)
    pitch, bar = (layout.text * 2 + 24, 17) if layout.narrow else (44, 24)
    sheet = Sheet(layout, pitch * len(rows) + layout.text * 2 + 22)
    panel = Panel(sheet, label_room + 2, 0, layout.width - label_room - number_room - 2, pitch * len(rows) + 4, scale, Scale(0, 1))
    ticks = nice_ticks(scale, 3 if layout.narrow else 5)
    for tick in ticks:
        sheet.line([(panel.x(tick), 0), (panel.x(tick), panel.bottom)], RULE, 1.0)
    for place, row in enumerate(rows):
        with sheet.group(row.name):
            _bar(panel, row, place * pitch + (layout.text + 10 if layout.narrow else 8), bar, rows[place + 1] if place + 1 < len(rows) else None, pitch)
    panel.frame(ticks)
    sheet.text(panel.right + (number_room if layout.narrow else 0), panel.bottom + layout.text * 2 + 13, label("time"), "end", INK2)
    return sheet


def _rows(values: Values, first: str, last: str) -> list[Row]:
    at = value(values, first)
    rows = [Row("from", first, 0.0, at, INK)]
    for term, color in TERMS:
        step = value(values, f"loss.{term}_ms")
        if step is not None:
            share = f"loss.{term}_share"
            fixed = value(values, f"loss.whatif.{term}_ms")
            rows.append(Row(term, f"loss.{term}_ms", at, at + step, color, share if value(values, share) is not None else "", fixed))
            at += step
    return [*rows, Row("to", last, 0.0, value(values, last), INK)]


def _bar(panel: Panel, row: Row, y: float, height: float, following: Row | None, pitch: float) -> None:
    sheet, size = panel.sheet, panel.sheet.layout.text
    left, right = sorted((panel.x(row.start), panel.x(row.end)))
    sheet.rect(left, y, max(right - left, 1.5), height, row.color)
    if row.fixed is not None:
        _fixed(panel, row.fixed, y + height + 3)
    if following is not None:
        x = panel.x(row.end)
        sheet.line([(x, y + height), (x, y + pitch)], INK2, 1.0, (2, 2))
    whole = row.name in ("from", "to")
    middle = y + height / 2 + size * 0.36
    if sheet.layout.narrow:
        sheet.text(0, y - 6, label(row.name), color=row.color if row.color is not AXIS else INK2, bold=whole, halo=True)
    else:
        sheet.text(panel.left - 12, middle, label(row.name), "end", row.color if row.color is not AXIS else INK2, bold=whole)
    slot = number(row.key if whole else f"{row.key}|signed")
    sheet.text(sheet.width - (0 if sheet.layout.narrow else 112), middle, slot, "end", INK, bold=whole)
    if whole and row.name == "from" and not sheet.layout.narrow:
        sheet.text(sheet.width, middle, label("share"), "end", INK2)
    if row.share:
        # Narrow paper has the share on the line of the label, wide paper a column of its own.
        sheet.text(sheet.width, y - 6 if sheet.layout.narrow else middle, number(row.share), "end", INK2)


def _fixed(panel: Panel, whole: float, y: float) -> None:
    """A lighter bar under a part's own; named on wide paper, where there is room."""
    sheet = panel.sheet
    left, right = sorted((panel.x(0), panel.x(whole)))
    sheet.rect(left, y, max(right - left, 1.5), 6, None, AXIS)
    if not sheet.layout.narrow:
        sheet.text(panel.left - 12, y + 9, label("fixed"), "end", INK2)


def table(values: Values) -> Table:
    none = key(values, "-")
    rows = [(name("from"), key(values, "loss.from_ms"), none, none)]
    rows += [(name(term), *(key(values, f"loss.{what}") for what in (f"{term}_ms", f"{term}_share", f"whatif.{term}_ms"))) for term, _ in TERMS]
    rows += [(name("to"), key(values, "loss.to_ms"), none, none)]
    return Table(("part", "time", "share", "fixed"), tuple(rows))


PLATE = Plate("loss", "loss.step_dominates", draw, table, wide=True, needs=("loss.from_isl", "loss.to_isl"))
