"""What plates of published rows share: facts `rows.part` over one knob or load, `#` in `rows` standing for its level."""

from __future__ import annotations

from collections.abc import Sequence

from workflow.derive.values import Values
from workflow.figures.panels import beside
from workflow.figures.plate import Missing, Table, key, lit
from workflow.figures.read import series
from workflow.figures.sheet import Sheet
from workflow.figures.style import Layout, Token

PUBLISHER = "origin.publisher"
"""Whose rows they are: every caption names them."""


def panels(values: Values, layout: Layout, rows: str, axis: str, parts: Sequence[tuple[str, Token]]) -> Sheet | Missing:
    """A panel for each part that has more than one level."""
    shown = [(part, color, marks) for part, color in parts if len(marks := series(values, f"{rows}.{part}")) > 1]
    return beside(layout, shown, axis, keep=3) if shown else Missing(tuple(f"{rows.replace('#', '*')}.{part}" for part, _ in parts))


def table(values: Values, axis: str, columns: dict[str, str]) -> Table:
    """A row a level. `columns`: label -> pattern of its facts."""
    levels = sorted({mark.at for pattern in columns.values() for mark in series(values, pattern)})
    return Table((axis, *columns), tuple((lit(level), *(key(values, pattern.replace("#", str(level))) for pattern in columns.values())) for level in levels))
