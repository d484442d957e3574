"""Effects on one ratio axis: a dot with its interval a row, parity dashed, the noise floor as a band behind them."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing
from workflow.figures.read import Mark, interval, repeats, value
from workflow.figures.scale import Scale
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import INK, INK2, RULE, Layout

TICKS = (0.25, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0)


def strip(values: Values, layout: Layout, rows: list[tuple[str, str]], same: list[Mark], room: float = 212) -> Sheet | Missing:
    """`rows` are (label, or key of the fact that names the row, fact key) of ratios above 0; `same`, where there are any, the repeats of
    one configuration in a row on top. `room`: width that labels have on wide paper, in SVG units."""
    floor = value(values, "noise.floor")
    if floor is None or floor < 0:
        return Missing(("noise.floor",))
    above = 1 if same else 0
    known = [m.value for m in same] + [value(values, k) for _, k in rows] + [1 + floor / 100, 1 / (1 + floor / 100)]
    scale = Scale(min(known) * 0.95, max(known) * 1.05, log=True)
    left, right = (2, 66) if layout.narrow else (room, 76)
    pitch = layout.text + 26 if layout.narrow else 31
    head = layout.text + 14
    height = pitch * (len(rows) + above) + 6
    sheet = Sheet(layout, head + height + layout.text * 2 + 22)
    panel = Panel(sheet, left, head, layout.width - left - right, height, scale, Scale(0, 1))
    band = panel.x(1 / (1 + floor / 100)), panel.x(1 + floor / 100)
    sheet.text((band[0] + band[1]) / 2, layout.text, label("band"), "middle", INK2)
    count = len(rows) + above
    # Narrow paper keeps the band out of the rows' labels.
    strips = [(panel.top + pitch * (place + 1) - 23, 22) for place in range(count)] if layout.narrow else [(panel.top, height)]
    for top, tall in strips:
        sheet.rect(band[0], top, band[1] - band[0], tall, RULE)
        sheet.line([(panel.x(1), top), (panel.x(1), top + tall)], INK2, 1.2, (5, 3))
    if same:
        with sheet.group("repeats"):
            _repeats(panel, same, panel.top + pitch - 12)
    for place, (text, fact) in enumerate(rows, above):
        with sheet.group(text.replace("_", "-").replace(".", "-")):
            _effect(panel, values, text, fact, panel.top + pitch * (place + 1) - 12)
    panel.frame(_ticks(panel, layout))
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("ratio"), "end", INK2)
    return sheet


def row_label(panel: Panel, y: float, text: str, bold: bool = False) -> None:
    """The name of a row at height y: beside the panel on wide paper, above the row on narrow. `text`: a label, or the key of a fact that names it."""
    size, slot = panel.sheet.layout.text, number(text) if "." in text else label(text)
    if panel.sheet.layout.narrow:
        panel.sheet.text(panel.left, y - size * 0.95, slot, color=INK if bold else INK2, bold=bold)
    else:
        panel.sheet.text(panel.left - 12, y + size * 0.35, slot, "end", INK if bold else INK2, bold=bold)


def _repeats(panel: Panel, repeats: list[Mark], y: float) -> None:
    """A tick each, so that their spread is seen and none hides another."""
    row_label(panel, y, "repeats", bold=True)
    for mark in repeats:
        x = panel.x(mark.value)
        panel.sheet.line([(x, y - 8), (x, y + 8)], INK, 1.8)
    panel.sheet.text(panel.sheet.width, y + panel.sheet.layout.text * 0.35, number("noise.floor"), "end", bold=True)


def _effect(panel: Panel, values: Values, text: str, fact: str, y: float) -> None:
    row_label(panel, y, text)
    known = values.get(fact)
    if bounds := interval(known):
        lo, hi = (min(max(b, panel.xscale.lo), panel.xscale.hi) for b in bounds)
        panel.sheet.line([(panel.x(lo), y), (panel.x(hi), y)], INK, 1.6)
    for repeat in repeats(known):
        x = panel.x(min(max(repeat, panel.xscale.lo), panel.xscale.hi))
        panel.sheet.line([(x, y - 6), (x, y + 6)], INK, 1.0)
    panel.sheet.marks([(panel.x(float(known.value)), y)], "o", INK, 8)
    panel.sheet.text(panel.sheet.width, y + panel.sheet.layout.text * 0.35, number(fact), "end")


def _ticks(panel: Panel, layout: Layout) -> list[float]:
    """Round ratios that fit side by side."""
    kept: list[float] = []
    room = layout.text * 2.6
    for tick in sorted(TICKS, key=lambda t: (t != 1.0, t not in (0.5, 1.5, 2.0), t)):
        inside = panel.xscale.lo <= tick <= panel.xscale.hi and panel.x(tick) > layout.text  # its digits are centred on it
        if inside and all(abs(panel.x(tick) - panel.x(other)) > room for other in kept):
            kept.append(tick)
    return sorted(kept)
