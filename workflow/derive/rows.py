"""Rows selected from a measured table, and what is computed from them. Every column that is used is recorded as a source."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from workflow.derive import units
from workflow.derive.fact import Cell
from workflow.derive.load import Table
from workflow.derive.sample import Sample
from workflow.derive.stats import Selection, Weights


class Missing(Exception):
    """A value that the campaign does not allow; the message is the reason shown on the page."""


@dataclass
class Record:
    """What one fact has read so far."""

    parents: dict[str, None] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    """Facts whose presence mattered, whether or not their value was read."""
    cells: dict[Cell, None] = field(default_factory=dict)
    boots: dict[tuple[str, str], int] = field(default_factory=dict)
    """(table family, stage) -> boots behind the rows that were read."""
    prompts: int = 0
    """Bit set of the prompts behind the rows that were read."""
    timed: bool = False
    statuses: list[str] = field(default_factory=list)


class Rows:
    """A selection of one table, with the weights of its rows in every resample."""

    def __init__(self, table: Table, index: np.ndarray, weights: Weights, family: str, where: str, record: Record, status: str):
        self.table, self.index, self.weights = table, index, weights
        self.family, self.where, self.record, self.status = family, where, record, status

    def __len__(self) -> int:
        return len(self.index)

    def where_true(self, keep: np.ndarray) -> Rows:
        """The rows of this selection for which `keep` [rows] is true."""
        return Rows(self.table, self.index[keep], self.weights, self.family, self.where, self.record, self.status)

    def read(self, column: str) -> np.ndarray:
        """The numbers of one column [rows]. Raises Missing on an empty cell."""
        self._has(column)
        values = self.table.numbers(column)[self.index]
        if not np.isfinite(values).all():
            line = self.table.lines[self.index[np.flatnonzero(~np.isfinite(values))[0]]]
            raise Missing(f"{self.table.file} line {line}: column {column} is empty")
        self._trace(column)
        return values

    def texts(self, column: str) -> list[str]:
        """The texts of one column [rows]."""
        self._has(column)
        self._trace(column)
        cells = self.table.columns[column]
        return [cells[i] for i in self.index]

    def whole(self, column: str, what: str) -> int:
        """The whole number that all rows have in a column. Raises Missing where they differ; `what` names them in its reason."""
        found = {round(value) for value in self.read(column)}
        if len(found) > 1:
            raise Missing(f"{what} differ in {column}")
        return found.pop()

    def _has(self, column: str) -> None:
        if column.partition("[")[0] not in self.table.columns:
            raise Missing(f"{self.table.file} has no column {column.partition('[')[0]}")

    def unit(self, column: str) -> str:
        return units.COLUMNS[self.table.kind].get(column.partition("[")[0], "")

    def sum(self, column: str) -> Sample:
        return Sample(self.weights.sums(self.index, self.read(column)), self.unit(column))

    def dot(self, a: str, b: str) -> Sample:
        """Sum over the rows of the product of two columns."""
        return Sample(self.weights.sums(self.index, self.read(a) * self.read(b)), units.multiply(self.unit(a), self.unit(b)))

    def count(self, unit: str = "") -> Sample:
        """Number of rows, as so many of `unit`."""
        self._replicas()
        return Sample(self.weights.sums(self.index, np.ones(len(self.index))), unit)

    def mean(self, column: str) -> Sample:
        """Mean over the rows, each row the same weight."""
        return self.sum(column) / self.count()

    def _trace(self, column: str) -> None:
        self.record.cells[Cell(self.table.file, self._selection().lines, column, self.where)] = None
        self.record.statuses.append(self.status)
        self.record.timed |= column in units.CLOCKED or units.timed(self.unit(column))
        self._replicas()

    def _replicas(self) -> None:
        selection = self._selection()
        for place, boots in selection.boots.items():
            self.record.boots[place] = min(boots, self.record.boots.get(place, boots))
        self.record.prompts |= selection.prompts

    def _selection(self) -> Selection:
        return self.weights.selection(self.table, self.family, self.index)
