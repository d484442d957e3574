"""What a plate is: a drawing, a data table, the claim that words its title; and how one says that it cannot be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workflow.derive.values import Values
from workflow.figures.sheet import Sheet
from workflow.figures.style import Layout

SHARE = "share.png"
"""The picture for links: what its file is called, and its record in the index. (No plate's id has a dot.)"""


@dataclass(frozen=True)
class Missing:
    """The facts without which the plate has nothing to show."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """One cell of a data table. kind: `key` (a fact), `label` (a string of the plate), `lit` (a coordinate), `none` (not measured)."""

    kind: str
    value: str = ""

    def to_json(self) -> dict | None:
        return None if self.kind == "none" else {self.kind: self.value}


def key(values: Values, name: str) -> Cell:
    """The fact's cell, or an empty one when it is missing."""
    return Cell("key", name) if values.get(name) is not None else Cell("none")


def label(name: str) -> Cell:
    return Cell("label", name)


def lit(number: int | str) -> Cell:
    return Cell("lit", str(number))


@dataclass(frozen=True)
class Table:
    """The numbers under a plate. `columns` are label names of the plate; the first cell of a row heads it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def facts(self) -> set[str]:
        return {cell.value for row in self.rows for cell in row if cell.kind == "key"}

    def to_json(self) -> dict:
        return {
            "columns": [{"label": name} for name in self.columns],
            "rows": [[cell.to_json() for cell in row] for row in self.rows],
        }


@dataclass(frozen=True)
class Plate:
    """One plate. `draw` returns the sheet for a paper width, or what is missing; `table` never fails on missing facts."""

    id: str
    claim: str
    draw: Callable[[Values, Layout], Sheet | Missing]
    table: Callable[[Values], Table]
    wide: bool = False
    """Set across text and margin (a plate that decides), not in the text column."""
    needs: tuple[str, ...] = ()
    """Facts that its subtitle and labels state, beyond those that the drawing asks for itself."""

    def absent(self, values: Values) -> tuple[str, ...]:
        return tuple(key for key in self.needs if values.get(key) is None)
