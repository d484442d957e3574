"""CSV files of the measuring side: rows checked against a JSON Schema, several files published together.

The schemas in `workflow/schemas` are read as data. They describe one row; the order of their properties is the order of
the columns. An empty cell is null. Where a schema names the columns of a skipped row (`skipped`), a row of that status, or of one of
the statuses named there, has a reason in `note` and no measured value.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

SKIPPED = "skipped"
"""Status of a row that stands for what was not measured."""
SCHEMAS = Path(__file__).resolve().parent.parent / "workflow" / "schemas"

Cell = str | int | float | None
Row = dict[str, Cell]


class TableError(ValueError):
    """A row or a file that breaks its schema; the message names file, row and column."""


@dataclass(frozen=True)
class Column:
    """What one cell may hold."""

    name: str
    types: frozenset[str]
    rule: dict
    required: bool

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        return re.compile(self.rule["pattern"]) if "pattern" in self.rule else None

    def fault(self, value: Cell) -> str | None:
        """What is wrong with a value, or None."""
        if value is None:
            return None if "null" in self.types else "must not be empty"
        if "enum" in self.rule and value not in self.rule["enum"]:
            return f"{value!r} is none of {', '.join(str(v) for v in self.rule['enum'] if v is not None)}"
        if isinstance(value, str):
            if "string" not in self.types:
                return f"{value!r} is not a {self.number_name}"
            if self.pattern and not self.pattern.search(value):
                return f"{value!r} does not match {self.rule['pattern']}"
            return "must not be empty" if len(value) < self.rule.get("minLength", 0) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.types & {"integer", "number"}:
            return f"{value!r} is not {'text' if 'string' in self.types else f'a {self.number_name}'}"
        if not math.isfinite(value):
            return f"{value} is not finite"
        if "number" not in self.types and value != int(value):
            return f"{value} is not an integer"
        if value < self.rule.get("minimum", -math.inf):
            return f"{value} is below {self.rule['minimum']}"
        if value > self.rule.get("maximum", math.inf):
            return f"{value} is above {self.rule['maximum']}"
        if value <= self.rule.get("exclusiveMinimum", -math.inf):
            return f"{value} is not above {self.rule['exclusiveMinimum']}"
        return None

    @property
    def number_name(self) -> str:
        return "number" if "number" in self.types else "integer"

    def parse(self, text: str) -> Cell:
        """Cell text to value; text that is no finite number stays text, and fails the check unless text may stand there."""
        if text == "":
            return None
        if self.types & {"integer", "number"}:
            try:
                number = int(text) if "number" not in self.types else float(text)
            except ValueError:
                return text
            return number if math.isfinite(number) else text
        return text


@cache
def schema_of(kind: str) -> dict:
    return json.loads((SCHEMAS / f"{kind}.schema.json").read_text("utf8"))


@cache
def columns(kind: str) -> tuple[Column, ...]:
    """Columns of a file kind: points, requests, steps, trace or noise."""
    schema = schema_of(kind)
    required = set(schema["required"])
    return tuple(
        Column(name, frozenset([rule["type"]] if isinstance(rule["type"], str) else rule["type"]), rule, name in required)
        for name, rule in schema["properties"].items()
    )


def filled(kind: str, row: Row) -> frozenset[str] | None:
    """Columns that a row may fill where it says that nothing was measured; None for every other row, whose columns all have their rules."""
    about = schema_of(kind).get(SKIPPED)
    return frozenset((*about["columns"], "status", "note")) if about and row.get("status") in about.get("statuses", (SKIPPED,)) else None


def skipped(kind: str, note: str, status: str = SKIPPED, **filled: Cell) -> Row:
    """A row that stands for what was not measured, with its reason. `filled`: what it stands for, as far as the kind has such columns."""
    return {**{name: filled[name] for name in schema_of(kind)[SKIPPED]["columns"] if name in filled}, "status": status, "note": note}


def check(kind: str, row: Row, where: str) -> None:
    """Raise TableError for the first cell that breaks the schema. `where` names file and row."""
    known = columns(kind)
    names = {column.name for column in known}
    for name in row:
        if name not in names:
            raise TableError(f"{where}: column {name!r} is not in {kind}.schema.json")
    own = filled(kind, row)
    for column in known:
        value = row.get(column.name)
        if own is None or value is not None and column.name in own:
            fault = column.fault(value)
        elif value is not None:
            fault = f"{value!r} stands in a row of status {row['status']}; expected nothing"
        else:
            fault = f"must not be empty: why is the row's status {row['status']}?" if column.name == "note" else None
        if fault:
            raise TableError(f"{where}: column {column.name}: {fault}")


def cell_text(value: Cell) -> str:
    if value is None:
        return ""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def render(kind: str, rows: list[Row], name: str) -> bytes:
    """Rows as CSV, each one checked first. `name` is the file's name, for the error message."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [column.name for column in columns(kind)]
    writer.writerow(names)
    for number, row in enumerate(rows, start=1):
        check(kind, row, f"{name}: row {number}")
        writer.writerow([cell_text(row.get(column)) for column in names])
    return text.getvalue().encode("utf8")


def parse(kind: str, content: bytes, name: str) -> list[Row]:
    """CSV content to checked rows. Columns that the schema does not require may be absent."""
    try:
        table = csv.reader(io.StringIO(content.decode("utf8"), newline=""), strict=True)
        header = next(table, None)
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"{name}: not readable as CSV: {error}") from None
    if not header:
        raise TableError(f"{name}: empty file; expected a header row")
    by_name = {column.name: column for column in columns(kind)}
    for column in header:
        if column not in by_name:
            raise TableError(f"{name}: header: column {column!r} is not in {kind}.schema.json")
    for column in by_name.values():
        if column.required and column.name not in header:
            raise TableError(f"{name}: header: column {column.name!r} is missing")
    rows: list[Row] = []
    try:
        for number, cells in enumerate(table, start=1):
            if len(cells) != len(header):
                raise TableError(f"{name}: row {number}: {len(cells)} cells, the header has {len(header)}")
            row = {column: by_name[column].parse(text) for column, text in zip(header, cells, strict=True)}
            check(kind, row, f"{name}: row {number}")
            rows.append(row)
    except csv.Error as error:
        raise TableError(f"{name}: row {len(rows) + 1}: {error}") from None
    return rows


def read(kind: str, path: Path) -> list[Row]:
    """Rows of a CSV file. TableError names what is wrong; a missing file is an OSError."""
    return parse(kind, path.read_bytes(), str(path))


def publish(files: dict[Path, bytes]) -> None:
    """Write every file beside its place and sync it, then rename all; on a failure before that nothing has moved."""
    parts = {path: path.with_name(f".{path.name}.part") for path in files}
    try:
        for path, content in files.items():
            with open(parts[path], "wb") as part:
                part.write(content)
                part.flush()
                os.fsync(part.fileno())
        for path in files:
            os.replace(parts[path], path)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
