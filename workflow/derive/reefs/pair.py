"""What a row says beside what was true, where a hazard shows in two numbers of one quantity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workflow.derive.fact import Cell
from workflow.derive.reefs.evidence import Row

UNITS = {"ms": ("duration", "ms"), "plain": ("length", "")}
"""What a pair is in -> kind and unit of its facts; `plain`: tokens, requests, tokens a round or a second, as the plate's label says."""


@dataclass(frozen=True)
class Pair:
    """One row of a points file read twice. `cells`: where both numbers came from, the row itself first."""

    said: float
    true: float
    cells: tuple[Cell, ...]

    @property
    def apart(self) -> float:
        """|ln(true / said)|; infinite where one of them is nothing."""
        if self.said == self.true:
            return 0.0
        return abs(math.log(self.true / self.said)) if self.said > 0 and self.true > 0 else math.inf


def pairs(rows: Iterable[Row], said: str | Callable[[Row], float], true: str | Callable[[Row], float], *columns: str) -> list[Pair]:
    """A pair a row. A number is a column, or computed from the row's `columns`."""
    named = [one for one in (said, true) if isinstance(one, str)]
    return [Pair(_of(row, said), _of(row, true), cells([row], *named, *columns)) for row in rows]


def cells(rows: Sequence[Row], *columns: str) -> tuple[Cell, ...]:
    """The cells of rows of one file, column by column."""
    lines = ",".join(str(row["line"]) for row in rows)
    return tuple(Cell(str(rows[0]["file"]), lines, column) for column in columns)


def _of(row: Row, number: str | Callable[[Row], float]) -> float:
    return row[number] if isinstance(number, str) else number(row)
