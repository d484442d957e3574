"""Small multiples: a panel a figure, one series in each, over an axis that they share."""

from __future__ import annotations

from collections.abc import Sequence

from workflow.figures.read import Mark
from workflow.figures.scale import from_zero, log_over, nice_ticks, thin, tick_text
from workflow.figures.sheet import Panel, Sheet, gutter, label, number
from workflow.figures.style import INK2, Layout, Token

WIDE = 2.4
"""Em that a figure reaches over its neighbours."""


def beside(layout: Layout, parts: Sequence[tuple[str, Token, Sequence[Mark]]], axis: str, keep: int) -> Sheet:
    """A panel for each (label, colour, marks), side by side or on narrow paper under one another. `keep`: ticks that have room across."""
    levels = sorted({mark.at for *_, marks in parts for mark in marks})
    across, scales = log_over(levels, 1.25), [from_zero([mark.value for mark in marks], 1.3) for *_, marks in parts]
    head, height, foot, air = layout.text + 16, 120 if layout.narrow else 150, layout.text + 10, 18
    # the last tick is centred on its place: half of it stands beyond the panel, as far as the scale leaves no room
    right = max(6 if layout.narrow else 20, len(tick_text(levels[-1])) * layout.text * 0.65 / 2 - 6)
    sheet = Sheet(layout, (head + height + foot + air) * (len(parts) if layout.narrow else 1) + layout.text + 2)
    for place, ((part, color, marks), scale) in enumerate(zip(parts, scales)):
        room = layout.width if layout.narrow else layout.width / len(parts)
        left, top = (0, place * (head + height + foot + air)) if layout.narrow else (place * room, 0)
        margin = gutter(layout, nice_ticks(scale, 3))
        with sheet.group(part.replace("_", "-")):
            sheet.text(left, top + layout.text + 1, label(part), color=color, bold=True)
            _panel(Panel(sheet, left + margin, top + head, room - margin - right, height, across, scale), marks, thin(levels, keep), color)
    sheet.text(layout.width - 6, sheet.height - 6, label(axis), "end", INK2)
    return sheet


def _panel(panel: Panel, marks: Sequence[Mark], ticks: list[int], color: Token) -> None:
    panel.frame(ticks, nice_ticks(panel.yscale, 3))
    panel.evidence(marks, color)
    panel.curve([(mark.at, mark.value) for mark in marks], color)
    for mark, anchor, aside in ((marks[0], "start", -8), (marks[-1], "end", 8)):
        panel.sheet.text(panel.x(mark.at) + aside, _clear(panel, mark, marks), number(mark.key + "|bare"), anchor, color, bold=True, halo=True)


def _clear(panel: Panel, mark: Mark, marks: Sequence[Mark]) -> float:
    """Baseline of the figure of an end, off the curve: under a mark to which the curve comes down, if there is room, else over all marks that it spans."""
    size = panel.sheet.layout.text
    bottom = _ends(panel, mark)[1] + size + 4
    if mark is marks[-1] and len(marks) > 1 and marks[-2].value > mark.value and bottom < panel.bottom - 4:
        return bottom
    reach = size * WIDE
    return min(_ends(panel, other)[0] for other in marks if abs(panel.x(other.at) - panel.x(mark.at)) < reach) - 11


def _ends(panel: Panel, mark: Mark) -> tuple[float, float]:
    """Top and bottom of a mark and of what stands behind it, cut at the panel."""
    known = [mark.value, *mark.fact.repeats, *(end for end in (mark.fact.lo, mark.fact.hi) if end is not None)]
    return panel.y(min(panel.yscale.hi, max(known))), panel.y(max(panel.yscale.lo, min(known)))
