"""Any CSV by a mapping file: which of our columns stands in which of its columns, in which unit. Nothing is guessed; columns without a use are named."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workflow.derive.schema import SchemaError, check_document, schema
from workflow.importers import tables, units
from workflow.importers.fields import Fields
from workflow.importers.formats.scores import name_of
from workflow.importers.report import FAULT
from workflow.importers.result import Figure, Result, Seen
from workflow.importers.source import Source, Unreadable
from workflow.importers.values import clean
from workflow.yaml_file import YamlError, read_yaml

NAME = "mapped-csv"
HOLE = re.compile(r"\{(\w+)\}")
IDENTIFIED = ("run_id", "campaign", "stage")
"""Columns that the import fills itself."""


class MappingError(ValueError):
    """A mapping that cannot be used; the message names file, column and what would be right."""


@dataclass(frozen=True)
class Mapping:
    """A parsed mapping file."""

    path: Path
    entries: tuple[dict, ...]
    tool: str

    @classmethod
    def load(cls, path: Path) -> Mapping:
        """Read and check a mapping. Raises MappingError."""
        try:
            data = read_yaml(path)
            check_document(path, data, "mapping")
        except FileNotFoundError:
            raise MappingError(f"{path}: no such file; expected a mapping (YAML)") from None
        except (YamlError, SchemaError) as error:
            raise MappingError(str(error)) from None
        for entry in data["files"]:
            for name in (*entry.get("columns", ()), *entry.get("set", ())):
                known = schema("points")["properties"].keys() - set(IDENTIFIED)
                if name not in known:
                    near = difflib.get_close_matches(name, known, n=1)
                    raise MappingError(f"{path}: {entry['name']}: no column {name!r} in points" + (f"; did you mean {near[0]!r}?" if near else ""))
            for name, rule in entry.get("columns", {}).items():
                check_unit(path, entry["name"], name, rule)
        return cls(path, tuple(data["files"]), data.get("tool", "a CSV by mapping"))

    def entry(self, file: str) -> dict | None:
        """The first entry whose pattern the file's name fits."""
        return next((entry for entry in self.entries if fnmatch.fnmatchcase(file, entry["name"])), None)

    def read(self, entry: dict, source: Source, seen: Seen) -> Iterator[tuple[str, Result | Figure]]:
        """Rows of one CSV. Raises Unreadable when it lacks a column that the mapping names."""
        count = 0
        for place, cells in tables.objects(source):
            if not count:
                check_header(entry, cells, source, self.path)
            count += 1
            fields = Fields({name: cell for name, cell in cells.items() if cell not in entry.get("missing", ())}, source.name, place, source.report)
            if any(cells.get(name, "") != str(text) for name, text in entry.get("only", {}).items()):
                continue
            seen.tools.add(self.tool)
            if (day := fields.text(entry["date"])) if "date" in entry else None:
                seen.dates.add(day[:10])
            if "columns" in entry:
                yield NAME, point(entry, fields)
            for figure in entry.get("figures", ()):
                if (found := score(figure, fields)) is not None:
                    yield NAME, found
            fields.ignore(*entry.get("ignore", ()), *HOLE.findall(entry.get("label", "")), *entry.get("only", ()))
            source.report.left(source.name, NAME, fields.left())
        if not count:
            raise Unreadable(f"{source.path}: no rows below the header")


def check_unit(path: Path, file: str, name: str, rule: dict) -> None:
    if "unit" not in rule:
        return
    ours = units.of_column(name, schema("points")["properties"][name])
    try:
        units.factor(rule["unit"], ours)
    except units.UnknownUnit as error:
        raise MappingError(f"{path}: {file}: column {name}: {error}") from None


def check_header(entry: dict, cells: dict, source: Source, path: Path) -> None:
    wanted = [rule["from"] for rule in entry.get("columns", {}).values()] + [figure["value"]["from"] for figure in entry.get("figures", ())]
    for place in (entry.get("stage"), entry.get("family")):
        if isinstance(place, dict):
            wanted.append(place["from"])
    wanted += [entry["date"]] if "date" in entry else []
    for name in [*wanted, *HOLE.findall(entry.get("label", "")), *entry.get("only", ())]:
        if name not in cells:
            near = difflib.get_close_matches(name, cells, n=1)
            said = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(list(cells)[:8])}"
            raise Unreadable(f"{source.path}: no column {name!r}, which {path.name} names" + said)


def point(entry: dict, fields: Fields) -> Result:
    columns: dict = dict(entry.get("set", {}))
    for name, rule in entry["columns"].items():
        columns[name] = cell(name, rule, fields)
    if "label" in entry:
        columns["label"] = fill(entry["label"], fields)
    family = chosen(entry.get("family", entry.get("stage")), fields)
    if (stage := chosen(entry.get("stage", entry.get("family")), fields)) is not None:
        columns["stage"] = stage
    return Result(fields.place, columns, family=family)


def cell(name: str, rule: dict, fields: Fields):
    kinds = schema("points")["properties"][name]["type"]
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "values" in rule:
        text = fields.text(rule["from"]) or ""
        found = rule["values"].get(text)
        return found if found is not None or "string" not in kinds else clean(text)
    if "string" in kinds and "number" not in kinds:
        return fields.text(rule["from"])
    ours = units.of_column(name, schema("points")["properties"][name])
    found = fields.number(rule["from"], unit=rule.get("unit", ours), ours=ours)
    if found is not None and "integer" in kinds and "number" not in kinds:
        whole = round(found)
        if abs(found - whole) > 1e-6 * max(1, abs(found)):
            fields.dropped(f"{rule['from']}: {found:g} is not whole; left empty")
            return None
        return whole
    return found


def chosen(place, fields: Fields) -> str | None:
    """A constant, or a column's text by its table of values."""
    if not isinstance(place, dict):
        return place
    text = fields.text(place["from"]) or ""
    found = place["values"].get(text)
    if found is None:
        fields.report.say(FAULT, fields.file, fields.place, f"{place['from']}: {text!r} is none of {', '.join(place['values'])}; the row stands in sweep_imported.csv")
    return found


def score(figure: dict, fields: Fields) -> Figure | None:
    rule = figure["value"]
    unit = figure.get("unit")
    value = fields.number(rule["from"], least=None)
    if value is None:
        return None
    if unit == "%":
        value = units.convert(value, rule.get("unit", "%"), "percent")
    return Figure(fields.place, name_of(fill(figure["id"], fields)), value, unit, fill(figure.get("note", ""), fields))


def fill(template: str, fields: Fields) -> str:
    return HOLE.sub(lambda hole: fields.text(hole[1]) or "", template)
