"""The rows of a campaign as plain values, for detectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from workflow.derive.load import Campaign, Table
from workflow.derive.schema import schema

Row = dict[str, object]


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
        return self._by_run.get(str(point["run_id"]), [])

    @cached_property
    def _by_run(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in self.requests:
            found.setdefault(str(row["run_id"]), []).append(row)
        return found


def rows_of(table: Table) -> Iterator[Row]:
    """Cells as their schema's types; an empty cell or an absent column is None."""
    properties = schema(table.kind)["properties"]
    parsers: dict[str, Callable[[str], object]] = {}
    for name, rule in properties.items():
        types = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        parsers[name] = number if "number" in types or "integer" in types else str
    blank: Row = dict.fromkeys(properties)
    parsed: dict[str, list[object]] = {}
    for name in parsers.keys() & table.columns.keys():
        values = {text: parsers[name](text) for text in set(table.columns[name]) if text}  # equal texts are parsed once
        parsed[name] = [values.get(text) for text in table.columns[name]]
    for line, cells in zip(table.lines, zip(*parsed.values())):
        yield {**blank, **dict(zip(parsed, cells)), "file": table.file, "line": line}


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
    return all(isinstance(row.get(name), float) for name in names)
