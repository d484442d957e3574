"""Is this file of a part what `engine.sweep --part` writes? Asked before any of it is used, so that an odd file is one line and no traceback."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

import jsonschema

from engine import csvio
from engine.bench.campaign import misfit
from engine.bench.journal import Record
from engine.config import ConfigError

SAID = ("preset", "code", "fingerprint", "weights", "threads", "machine", "start", "end", "command", "versions")
"""Keys of a part's head that are those of the manifest which its job would have written."""

TEXT, WHOLE, SECONDS = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 0}
OF_HEAD = {
    "number": {"type": "integer", "minimum": 1},
    "of": {"type": "integer", "minimum": 1},
    **dict.fromkeys(("stage", "campaign", "identity", "node"), TEXT),
    "epoch": SECONDS,
    "seconds": SECONDS,
    "seeds": {"type": "object"},
    "detectable": {"type": "object", "required": ["probe_tolerance"], "properties": {"probe_tolerance": {"type": "number"}}},
    # narrower than a manifest's: what is gathered from it
    "machine": {"type": "object", "required": ["isa", "steal_share", "other_share"]},
}
OF_BLOCK = {"block": TEXT, "attempt": WHOLE}
OF_KIND = {
    "boot": {**OF_BLOCK, "number": WHOLE, "label": TEXT, "lane": TEXT, "stage": TEXT, "seconds": SECONDS, "info": {"type": ["object", "null"]}},
    "cell": {
        **OF_BLOCK, "number": WHOLE, "label": TEXT, "stage": TEXT, "seconds": SECONDS, "warmup_s": SECONDS,
        "point": {"type": "object"}, "requests": {"type": "array"}, "steps": {"type": "array"},
    },
    "trace": {**OF_BLOCK, "rows": {"type": "array"}},
    "closed": OF_BLOCK,
}  # fmt: skip
"""Kind of a record -> the keys that are read of it."""
TABLES = {"cell": (("requests", "requests"), ("steps", "steps")), "trace": (("rows", "trace"),)}
"""Kind of a record -> (key of its rows, kind of the table they are of)."""
WHEN_OK = ("duration_s", "completed", "failed")
"""What the cost of a finished cell is booked from."""


@cache
def head_schema() -> jsonschema.Draft202012Validator:
    manifest = json.loads((csvio.SCHEMAS / "manifest.schema.json").read_text("utf8"))
    said = {name: {"allOf": [manifest["properties"][name], OF_HEAD.get(name, {})]} for name in SAID}
    properties = {**OF_HEAD, **said}
    return jsonschema.Draft202012Validator({"type": "object", "required": list(properties), "properties": properties, "$defs": manifest.get("$defs", {})})


@cache
def record_schema(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"type": "object", "required": list(OF_KIND[kind]), "properties": OF_KIND[kind]})


def check(path: Path, head: Record, records: Sequence[Record]) -> list[Record]:
    """The records, with every optional column of their rows there. Raises ConfigError naming file, line and key."""

    def refuse(line: int, why: str) -> ConfigError:
        return ConfigError(f"{path}: line {line}: {why}; measure this part again with `engine.sweep --part`")

    def valid(line: int, schema: jsonschema.Draft202012Validator, value: Record) -> None:
        if why := misfit(schema, value):
            raise refuse(line, why)
        for name, number in numbers(value):
            if not math.isfinite(number):  # which no bound of a schema sees of NaN
                raise refuse(line, f"{name}: {number} is not a finite number")

    valid(1, head_schema(), head)
    for name in ("start", "end"):
        try:
            datetime.fromisoformat(head[name])
        except ValueError:
            raise refuse(1, f"{name}: {head[name]!r} is no time of ISO 8601") from None
    if head["number"] > head["of"]:
        raise refuse(1, f"number: {head['number']} of {head['of']} parts")
    found = []
    for line, record in enumerate(records, start=2):
        kind = record.get("kind")
        if not isinstance(kind, str) or kind not in OF_KIND:
            raise refuse(line, f"kind: {kind!r} is none of {', '.join(OF_KIND)}")
        valid(line, record_schema(kind), record)
        try:
            found.append({**record, **dict(tables(kind, record))})
        except csvio.TableError as error:
            raise refuse(line, str(error)) from None
    return found


def numbers(record: Record) -> Iterator[tuple[str, float]]:
    """(key, number) of a record and of the objects in it; rows are checked with their tables."""
    for name, value in record.items():
        for key, one in value.items() if isinstance(value, dict) else ((name, value),):
            if isinstance(one, float):
                yield key, one


def tables(kind: str, record: Record) -> Iterator[tuple[str, object]]:
    """The rows of a record, each checked and with all columns of its table."""
    for key, table in TABLES.get(kind, ()):
        yield key, [whole(table, row, f"{key}: row {number}") for number, row in enumerate(record[key], start=1)]
    if kind == "cell":
        point = whole("points", record["point"], "point")
        missing = [name for name in WHEN_OK if point[name] is None and point["status"] == "ok"]
        if missing:
            raise csvio.TableError(f"point: column {missing[0]}: must not be empty")
        yield "point", point


def whole(table: str, row: object, where: str) -> csvio.Row:
    if not isinstance(row, dict):
        raise csvio.TableError(f"{where}: {row!r} is no row")
    csvio.check(table, row, where)
    return {column.name: row.get(column.name) for column in csvio.columns(table)}
