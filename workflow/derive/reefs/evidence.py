"""The rows of a campaign as plain values, for detectors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workflow.derive.load import Campaign, Table, family_of
from workflow.derive.schema import schema, types_of

CELL = ("file", "stage", "label", "content", "isl", "osl", "max_concurrency", "request_rate")
"""Columns that the repeats of one cell have in common."""
PROBING = ("memory", "capacity")
"""Stages of one wave each that is asked whether it fits and how much room it leaves: no throughput and no accept length is reported from them."""


class Cells(dict):
    """Columns of one table as their schema's types, each parsed when it is first asked for: detectors look at few. Nothing stands for an empty cell
    and for an absent column; a name that the schema does not have is a KeyError."""

    def __init__(self, table: Table):
        super().__init__(file=(table.file,) * len(table), line=table.lines)
        self.table = table

    def __missing__(self, name: str) -> Sequence[object]:
        types = types_of(schema(self.table.kind)["properties"][name])
        cells = self.table.columns.get(name, ("",) * len(self.table))
        parse = number if "number" in types or "integer" in types else str
        values = {text: parse(text) for text in set(cells) if text}  # equal texts are parsed once
        self[name] = list(map(values.get, cells))
        return self[name]


class Row:
    """One row of a table."""

    __slots__ = ("at", "cells")

    def __init__(self, cells: Cells, at: int):
        self.cells, self.at = cells, at

    def __getitem__(self, name: str) -> object:
        return self.cells[name][self.at]

    get = __getitem__  # a row lacks no column of its schema


@dataclass(frozen=True)
class Evidence:
    """Tables and manifests of one campaign."""

    campaign: Campaign

    @cached_property
    def points(self) -> list[Row]:
        """Good rows of every points file, each with `file` and `line`; the sentinels' too."""
        return [row for row in self.every_point if row["status"] == "ok"]

    @cached_property
    def every_point(self) -> list[Row]:
        return [row for table in self.campaign.tables.values() if table.kind == "points" for row in rows_of(table)]

    @cached_property
    def requests(self) -> list[Row]:
        return [row for table in self.campaign.tables.values() if table.kind == "requests" for row in rows_of(table)]

    @cached_property
    def costs(self) -> list[Row]:
        """A row of each measuring process of the verify-cost sweep: its probes are the same in all of them."""
        rows = [row for table in self.campaign.tables.values() if table.kind == "verify_cost" for row in rows_of(table)]
        return list({(row["probe_copy_before_ms"], row["probe_copy_after_ms"]): row for row in rows}.values())

    @cached_property
    def noise(self) -> list[Row]:
        return [row for table in self.campaign.tables.values() if table.kind == "noise" for row in rows_of(table)]

    @property
    def manifests(self) -> dict[str, dict]:
        return self.campaign.manifests

    @property
    def backend(self) -> str:
        """What the campaign measured; empty where its definition does not say."""
        return self.campaign.definition.get("backend", "")

    def speculative(self) -> list[Row]:
        """Rows of lanes that draft; a foreign row that does not say is none of them."""
        return [row for row in self.points if row["lane"] not in ("plain", "unknown")]

    def requests_of(self, point: Row) -> list[Row]:
        return self._by_run.get(run_of(point), [])

    @cached_property
    def _by_run(self) -> dict[tuple[str, object], list[Row]]:
        found: dict[tuple[str, object], list[Row]] = {}
        for row in self.requests:
            found.setdefault(run_of(row), []).append(row)
        return found


def run_of(row: Row) -> tuple[str, object]:
    """What a point and its requests have in common: a run_id names a run inside its own command's files only."""
    return family_of(str(row["file"])), row["run_id"]


def rows_of(table: Table) -> Iterator[Row]:
    """Every row, with its `file` and `line` as further columns."""
    cells = Cells(table)
    return (Row(cells, at) for at in range(len(table)))


def number(text: str) -> object:
    """A number where the cell holds one; `inf` and other words stay text."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def place(rows: Sequence[Row], shown: int = 4) -> str:
    """`sweep_isl.csv line 3, 7, ...` of the rows of one file."""
    lines = ", ".join(str(row["line"]) for row in rows[:shown])
    return f"{rows[0]['file']} line {lines}{', …' if len(rows) > shown else ''}"


def by_file(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows of each file apart."""
    files: dict[str, list[Row]] = {}
    for row in rows:
        files.setdefault(str(row["file"]), []).append(row)
    yield from files.values()


def has(row: Row, *names: str) -> bool:
    for name in names:  # a loop, where all() would start a generator: it is asked for most rows and by most detectors
        if not isinstance(row.get(name), float):
            return False
    return True
