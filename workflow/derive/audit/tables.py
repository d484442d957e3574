"""The published figures and claims of a folder: `claims.csv`, and every other CSV whose rows have a name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from workflow.derive import schema
from workflow.derive.audit import formula, printed
from workflow.derive.audit.interval import Interval
from workflow.derive.schema import SchemaError

CLAIMS = "claims.csv"
NAMES = ("id", "run_id")
"""Columns that name a row; the first of them that a file has counts."""
REQUIRED = ("id", "published", "unit", "kind", "set", "formula", "meaning")


class Unpublished(Exception):
    """A formula needs a figure that the folder does not give; the message says which, and what is near."""


@dataclass(frozen=True)
class Row:
    """One row of published figures."""

    file: str
    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        return self.cells.get(column, "").strip()


@dataclass(frozen=True)
class Claim:
    """One row of claims.csv. `tree` is None when it has no formula."""

    id: str
    published: str
    unit: str
    kind: str
    set: str
    formula: str
    meaning: str
    line: int
    tree: formula.Tree | None
    fault: str = ""
    """Why the formula could not be read, where that is forgiven."""


@dataclass(frozen=True)
class Published:
    """What one folder says."""

    folder: Path
    claims: dict[str, Claim]
    rows: dict[str, Row]
    stages: dict[str, list[str]]
    """Stage -> ids of its rows, in the order of the files."""

    def row(self, name: str) -> Row:
        if name not in self.rows:
            files = ", ".join(sorted({row.file for row in self.rows.values()}))
            raise Unpublished(f"no row {name!r} in {files}{near(name, self.rows)}")
        return self.rows[name]

    def cell(self, name: str, column: str) -> Interval:
        """The interval of one printed cell. Raises Unpublished, naming row and column."""
        row = self.row(name)
        if column not in row.cells:
            raise Unpublished(f"row {name!r} ({row.file} line {row.line}) has no column {column!r}{near(column, row.cells)}")
        text = row.text(column)
        if not text:
            raise Unpublished(f"row {name!r} ({row.file} line {row.line}): column {column!r} is empty, it was not published")
        try:
            return printed.interval(text, printed.is_exact(column, text, row.text("unit")))
        except printed.PrintedError as error:
            raise SchemaError(f"{self.folder / row.file}: line {row.line}, column {column}: {error}") from None

    def stage(self, name: str) -> list[str]:
        if name not in self.stages:
            raise Unpublished(f"no row has stage {name!r}{near(name, self.stages)}")
        return self.stages[name]


def near(name: str, known) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; the nearest is {found[0]!r}" if found else ""


def read(folder: Path) -> Published:
    """Read a folder. Raises SchemaError with file, line and what would be right."""
    if not folder.is_dir():
        raise SchemaError(f"{folder}: no such folder; expected one with {CLAIMS} and CSVs of measurements")
    claims = read_claims(folder / CLAIMS)
    rows: dict[str, Row] = {}
    stages: dict[str, list[str]] = {}
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]):
        if path.name == CLAIMS:
            continue
        header, lines, numbers = schema.read_rows(path)
        name = next((column for column in NAMES if column in header), None)
        if name is None or len(set(header)) != len(header):
            continue
        for line, cells in zip(numbers, lines):
            row = Row(path.name, line, dict(zip(header, cells)))
            if (key := row.text(name)) in rows:
                if name == "run_id" and path.name.split("_")[0] in ("requests", "steps"):
                    continue
                other = rows[key]
                raise SchemaError(f"{path}: line {line}, column {name}: {key!r} stands in {other.file} line {other.line} already")
            rows[key] = row
            if stage := row.text("stage"):
                stages.setdefault(stage, []).append(key)
    if not rows:
        raise SchemaError(f"{folder}: no CSV with a column {' or '.join(NAMES)} beside {CLAIMS}; expected measurements.csv")
    return Published(folder, claims, rows, stages)


def of_campaign(campaign) -> Published:
    """What a campaign's own tables say; only files whose rows have a name count. Raises SchemaError."""
    rows: dict[str, Row] = {}
    stages: dict[str, list[str]] = {}
    for file, table in sorted(campaign.tables.items()):
        column = {"points": "run_id", "figures": "id"}.get(table.kind)
        for at, key in enumerate(table.columns[column] if column else ()):
            rows[key] = Row(file, table.lines[at], {name: cells[at] for name, cells in table.columns.items()})
            if stage := rows[key].text("stage"):
                stages.setdefault(stage, []).append(key)
    table = campaign.find("published", "")
    header = list(table.columns)
    cells = list(zip(*table.columns.values()))
    return Published(campaign.folder, claims_of(campaign.folder / CLAIMS, header, cells, table.lines, strict=False), rows, stages)


def read_claims(path: Path) -> dict[str, Claim]:
    return claims_of(path, *schema.read_rows(path))


def claims_of(path: Path, header: list[str], lines: list, numbers, strict: bool = True) -> dict[str, Claim]:
    """Claims by id. With `strict` off, a formula that cannot be read makes its own claim faulty and no other."""
    lacking = [name for name in REQUIRED if name not in header]
    if lacking:
        raise SchemaError(f"{path}: line 1: column {lacking[0]!r} is missing; expected {', '.join(REQUIRED)}")
    claims: dict[str, Claim] = {}
    for line, cells in zip(numbers, lines):
        row = {name: text.strip() for name, text in zip(header, cells)}
        if not row["id"]:
            raise SchemaError(f"{path}: line {line}, column id: empty; each claim needs its own")
        if row["id"] in claims:
            raise SchemaError(f"{path}: line {line}, column id: {row['id']!r} stands on line {claims[row['id']].line} already")
        tree, fault = None, ""
        try:
            tree = formula.parse(row["formula"]) if row["formula"] else None
        except formula.FormulaError as error:
            fault = f"column formula: {error}"
        if fault and strict:
            raise SchemaError(f"{path}: line {line} ({row['id']}), {fault}")
        claims[row["id"]] = Claim(*(row[name] for name in REQUIRED), line=line, tree=tree, fault=fault)
    if not claims:
        raise SchemaError(f"{path}: no claims; expected rows below the header")
    return claims
