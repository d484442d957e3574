"""Bars in groups: a line with a name and a figure, and under it a bar from zero, as long as its share of the longest of the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workflow.derive.values import Values
from workflow.figures.read import value
from workflow.figures.sheet import Sheet, label, number
from workflow.figures.style import AXIS, INK2, RULE, Layout, Token

THICK = 8
"""Height of a bar, in SVG units."""


@dataclass(frozen=True)
class Bar:
    """One bar. `name`: label of the plate; `key`: its fact."""

    name: str
    key: str
    color: Token


def known(values: Values, bars: Sequence[Bar]) -> list[Bar]:
    """The bars that have a number above zero."""
    return [bar for bar in bars if (value(values, bar.key) or 0) > 0]


def grouped(values: Values, layout: Layout, groups: dict[str, Sequence[Bar]]) -> Sheet:
    """A heading for each group that has bars, and its bars under it. Figures of one group have one unit."""
    size = layout.text
    head, pitch, air = size + 12, size + THICK + 15, 10
    shown = {heading: found for heading, bars in groups.items() if (found := known(values, bars))}
    sheet, top = Sheet(layout, sum(head + pitch * len(bars) + air for bars in shown.values())), 0.0
    for heading, bars in shown.items():
        longest = max(value(values, bar.key) for bar in bars)
        sheet.text(0, top + size + 1, label(heading), bold=True)
        for line, bar in enumerate(bars):
            y = top + head + pitch * line + size
            sheet.text(0, y, label(bar.name), color=INK2)
            sheet.text(layout.width - 2, y, number(bar.key), "end", INK2 if bar.color is AXIS else bar.color)  # AXIS is too pale for text
            sheet.rect(0, y + 6, layout.width, THICK, RULE)
            sheet.rect(0, y + 6, layout.width * value(values, bar.key) / longest, THICK, bar.color)
        top += head + pitch * len(bars) + air
    return sheet
