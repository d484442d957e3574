"""The measured files of one campaign folder, validated on read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path

import numpy as np

from workflow.derive import schema, skips
from workflow.derive.schema import SchemaError
from workflow.yaml_file import YamlError, read_yaml

CAMPAIGNS = "campaigns"
"""Name of the folder whose folders are named like the campaign in them."""
MUTATION = "mutation.json"
"""Result of a mutation run, beside the CSVs it was made on."""
FIRST = ("window", "isl", "concurrency", "search")
"""Families in the order in which the report speaks of them; others follow by name."""
JOINED = ("stage", "label", "lane", "mode", "block_size", "boot", "repeat", "max_concurrency", "in_boot_pass", "temperature", "num_prompts")
"""Columns that request and step rows take from the point of their run_id."""
ORIGIN = "origin"
"""In the cache of request and step rows: their points, the points' column behind each one that was joined, and the point of each row."""

Picker = Callable[[tuple[str, ...]], tuple[str, ...]]
"""A column to its cells at some places."""


@dataclass(frozen=True)
class Table:
    """Columns of one CSV as text, with the line each row stands on. Numbers are parsed when asked for; an empty cell is NaN."""

    file: str
    kind: str
    columns: dict[str, tuple[str, ...]]
    lines: tuple[int, ...]
    _cache: dict = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.lines)

    def numbers(self, column: str) -> np.ndarray:
        """One column as floats [rows]. `accepted_histogram[k]` is the k-th count of that column's list, 0 beyond its end."""
        if column not in self._cache:
            name, _, index = column.partition("[")
            cells = self.columns.get(name)
            if cells is None:
                values = np.full(len(self), np.nan)
            elif index:
                position = int(index.rstrip("]"))
                parts = (text.split(";") if text else None for text in cells)
                values = np.array([np.nan if p is None else float(p[position]) if position < len(p) else 0.0 for p in parts])
            else:
                values = np.array([float(text) if text else np.nan for text in cells])
            self._cache[column] = values
        return self._cache[column]

    def mask(self, column: str, value) -> np.ndarray:
        """Rows whose cell is one of `value` (a scalar or a tuple); None asks for empty cells."""
        key = (column, value)
        if key not in self._cache:
            points, names, place = self._cache.get(ORIGIN, (None, {}, None))
            if column in names:  # a few hundred points tell of tens of thousands of rows
                self._cache[key] = points.mask(names[column], value)[place]
            else:
                wanted = {"" if v is None else str(v) for v in (value if isinstance(value, tuple) else (value,))}
                cells = self.columns.get(column, ("",) * len(self))
                self._cache[key] = np.fromiter(map(wanted.__contains__, cells), bool, len(self))
        return self._cache[key]

    def select(self, where: dict) -> np.ndarray:
        """Indices of the rows that satisfy every condition."""
        key = ("select", tuple(where.items()))
        if key not in self._cache:
            chosen = np.ones(len(self), bool)
            for column, value in where.items():
                chosen &= self.mask(column, value)
            self._cache[key] = np.flatnonzero(chosen)
        return self._cache[key]

    def distinct(self, column: str) -> list[str]:
        """Texts of a column that are not empty, sorted (numbers as numbers)."""
        found = set(self.columns.get(column, ())) - {""}
        return sorted(found, key=lambda text: (0, float(text), "") if text.replace(".", "", 1).isdigit() else (1, 0.0, text))

    def with_cell(self, index: int, column: str, text: str) -> Table:
        """A copy in which one cell reads `text`."""
        cells = self.columns[column]
        return replace(self, columns=self.columns | {column: (*cells[:index], text, *cells[index + 1 :])}, _cache={})


@dataclass(frozen=True)
class Campaign:
    """Tables and manifests of one campaign; a table that the campaign lacks is absent, not empty."""

    name: str
    folder: Path
    definition: dict
    tables: dict[str, Table]
    manifests: dict[str, dict]
    mutation: dict | None = None
    """Result of the last mutation run on this campaign, if there is one."""
    skipped: dict[str, Table] = field(default_factory=dict)
    """File -> its rows of what was not measured or failed whole; a file without such rows is absent. `tables` have none of them."""

    def find(self, kind: str, family: str) -> Table | None:
        return self.tables.get(file_name(kind, family))

    @cached_property
    def commands(self) -> dict[str, dict]:
        """One manifest a measuring command (family), the points' own."""
        return {family: self.manifests[file_name("points", family)] for family in self.families}

    @cached_property
    def families(self) -> tuple[str, ...]:
        """One measuring command each: its points, request rows and step rows."""
        return families_of(self.tables)

    def with_table(self, table: Table) -> Campaign:
        """A copy with one table exchanged and the rows that depend on it joined again."""
        family = {table.file} if table.kind != "points" else set(family_files(table.file))
        points = file_name("points", family_of(table.file))
        tables = {name: strip(t) for name, t in self.tables.items() if name in family or name == points} | {table.file: strip(table)}
        return replace(self, tables=self.tables | join(tables))


def file_name(kind: str, family: str) -> str:
    """Name of a family's CSV: `points` of `isl` stand in sweep_isl.csv."""
    if kind in ("noise", "trace", "figures", "external", "kernels", "predicates", "gate", "pages", "instrument"):
        return f"{kind}.csv"
    if kind == "verify_cost":
        return "sweep_verify_cost.csv"
    if kind == "published":
        return "claims.csv"
    if kind == "points":
        return "search.csv" if family == "search" else f"sweep_{family}.csv"
    return f"{kind}_{family}.csv"


def family_files(file: str) -> list[str]:
    """Files that one measuring command's points belong to: its points, request rows and step rows."""
    family = family_of(file)
    return [file_name(kind, family) for kind in ("points", "requests", "steps")] if file_name("points", family) == file else [file]


def family_of(file: str) -> str:
    """`window` for sweep_window.csv, requests_window.csv and steps_window.csv."""
    return file.removesuffix(".csv").split("_", 1)[-1]


def families_of(tables: dict[str, Table]) -> tuple[str, ...]:
    """Families with points."""
    found = {family_of(file) for file, table in tables.items() if table.kind == "points"}
    return (*(family for family in FIRST if family in found), *sorted(found - set(FIRST)))


def read_table(path: Path, content: bytes) -> tuple[Table, Table]:
    """The measured rows of a CSV, and those that stand for what was not measured. `content`: its bytes, unpacked."""
    kind = schema.kind_of(path)
    header, columns, lines = schema.columns_of(path, schema.text_of(path, content))
    schema.check_table(path, kind, header, columns, lines)
    table = Table(path.name.removesuffix(".gz"), kind, columns, tuple(lines))
    measured, skipped = skips.apart(schema.schema(kind), columns, len(lines))
    return (taken(table, measured) if skipped else table), taken(table, skipped)


def taken(table: Table, index: list[int]) -> Table:
    """Those rows of a table."""
    columns = {name: tuple(cells[i] for i in index) for name, cells in table.columns.items()}
    return replace(table, columns=columns, lines=tuple(table.lines[i] for i in index), _cache={})


def strip(table: Table) -> Table:
    """The table without columns that were joined from its points."""
    own = {name: cells for name, cells in table.columns.items() if name in schema.schema(table.kind)["properties"]}
    return table if len(own) == len(table.columns) else replace(table, columns=own, _cache={})


def spread(points: Table, column: str, pick: Picker) -> tuple[str, ...]:
    """A column of the points, one cell for each row that refers to them."""
    return pick(points.columns.get(column, ("",) * len(points)))


def picker(index: list[int]) -> Picker:
    """Picks the cells at `index`."""
    return itemgetter(*index) if len(index) > 1 else lambda cells: tuple(cells[i] for i in index)


def join(tables: dict[str, Table], folder: Path = Path()) -> dict[str, Table]:
    """Give request and step rows the columns of their point. Raises SchemaError on a run_id that no point has."""
    joined = dict(tables)
    for rows in tables.values():
        if rows.kind in ("requests", "steps"):
            family = family_of(rows.file)
            points = tables.get(file_name("points", family))
            if points is None:
                raise SchemaError(f"{folder / rows.file}: its points are missing; expected {file_name('points', family)} beside it")
            place = {run_id: i for i, run_id in enumerate(points.columns["run_id"])}
            try:
                index = [place[run_id] for run_id in rows.columns["run_id"]]
            except KeyError as error:
                line = rows.lines[rows.columns["run_id"].index(error.args[0])]
                raise SchemaError(
                    f"{folder / rows.file}: line {line}, column run_id: {error.args[0]!r} is no point of {points.file}"
                ) from None
            pick = picker(index)
            names = dict(zip(JOINED, JOINED)) | {"asked_isl": "isl", "asked_osl": "osl", "point_status": "status"}
            if "content" not in rows.columns:
                names["content"] = "content"
            more = {name: spread(points, column, pick) for name, column in names.items()}
            joined[rows.file] = replace(rows, columns=rows.columns | more, _cache={ORIGIN: (points, names, np.array(index, int))})
    return joined


def load(folder: Path | str) -> Campaign:
    """Read and validate a campaign folder. Raises SchemaError with file, line and column."""
    folder = Path(folder)
    definition = read_definition(folder)
    measured_as = definition.get("measured_as", definition["name"])
    tables, manifests, skipped = {}, {}, {}
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]):
        content = schema.read_bytes(path)
        table, rest = read_table(path, content)
        if table.file in tables:
            raise SchemaError(f"{path}: {table.file} stands beside it; keep one of the two")
        tables[table.file] = table
        manifests[table.file] = schema.validate_manifest(schema.manifest_path(path), path, len(table) + len(rest), content)
        check_name(path, table, manifests[table.file], measured_as)
        if len(rest):
            skipped[table.file] = rest
    joined = join(tables, folder)
    for table in joined.values():
        check_embedded(folder / table.file, table, joined)
    return Campaign(definition["name"], folder, definition, joined, manifests, read_mutation(folder), skipped)


def read_mutation(folder: Path) -> dict | None:
    """What `soundings mutate` left in a campaign folder. Raises SchemaError."""
    path = folder / MUTATION
    if not path.exists():
        return None
    found = schema.read_json(path)
    schema.check_document(path, found, "mutation")
    return found


def read_definition(folder: Path) -> dict:
    """campaign.yaml of a folder. Raises SchemaError."""
    path = folder / "campaign.yaml"
    try:
        definition = read_yaml(path)
    except FileNotFoundError:
        raise SchemaError(f"{path}: no such file; --campaign wants a folder with campaign.yaml and CSVs") from None
    except YamlError as error:
        raise SchemaError(str(error)) from None
    schema.check_document(path, definition, "campaign")
    home = folder.absolute()
    if home.parent.name == CAMPAIGNS and home.name != definition["name"]:
        raise SchemaError(f"{path}: name: {definition['name']!r}, but the folder is {home.name!r}; a campaign's folder has its name")
    if "measure" in definition and definition.get("measured_as", definition["name"]) != definition["name"]:
        raise SchemaError(f"{path}: measured_as: {definition['measured_as']!r}, but a live campaign is measured as {definition['name']!r}")
    return definition


def check_name(path: Path, table: Table, manifest: dict, name: str) -> None:
    """Rows and manifest say under which name they were measured: the campaign's, or what an archived one declares as `measured_as`."""
    right = f"expected {name!r}, or in campaign.yaml `measured_as:` the name under which an archived campaign was measured"
    if manifest["campaign"] != name:
        raise SchemaError(f"{schema.manifest_path(path)}: campaign: {manifest['campaign']!r}; {right}")
    cells = table.columns.get("campaign", ())
    if set(cells) - {name}:
        line, cell = next((line, cell) for line, cell in zip(table.lines, cells) if cell != name)
        raise SchemaError(f"{path}: line {line}, column campaign: {cell!r}; {right}")


def check_embedded(path: Path, table: Table, tables: dict[str, Table]) -> None:
    """The embedded engine writes more columns than a foreign server can: refuse a file of it that lost one."""
    points = tables.get(file_name("points", family_of(table.file)))
    if points is None or "embedded" not in points.columns.get("backend", ()):
        return
    for name in schema.schema(table.kind).get("required_embedded", ()):
        if name not in table.columns:
            raise SchemaError(f"{path}: line 1: column {name!r} is missing; files of the embedded engine have it")
