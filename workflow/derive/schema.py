"""Validation of measured files against the JSON Schemas of `workflow/schemas`, one column at a time.

A CSV schema describes one row. The keywords used for rows are few (type, enum, minimum, maximum, exclusiveMinimum,
minLength, pattern), so columns are checked whole: a file of ten thousand rows takes milliseconds. Errors name file, line,
column, the offending text and what would be right.
"""

from __future__ import annotations

import csv
import difflib
import functools
import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

from workflow.derive import skips
from workflow.derive.predicate import Compiler, NotCompiled, Predicate

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
KINDS = ("points", "requests", "steps", "trace", "noise", "gate", "verify_cost", "kernels", "predicates", "figures", "external", "published", "pages", "instrument")
OWN_NAMES = {"claims": "published", "sweep_verify_cost": "verify_cost"}
"""Files that are not called by the kind of their rows."""
NAMED_BY = {"points": "run_id", "figures": "id", "external": "id", "published": "id"}
"""Column that names a row, by kind; names are unique in a file."""


class SchemaError(ValueError):
    """A measured file that is not what its schema says."""


@functools.cache
def schema(name: str) -> dict:
    """The parsed `workflow/schemas/NAME.schema.json`."""
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf8"))


def kind_of(path: Path) -> str:
    """Which row schema a CSV of this name follows."""
    stem = path.name.removesuffix(".gz").removesuffix(".csv")
    first = OWN_NAMES.get(stem, stem.split("_")[0])
    if stem == "search" or first == "sweep":
        return "points"
    if first in KINDS:
        return first
    raise SchemaError(
        f"{path}: no schema for a file of this name; expected search.csv, sweep_X.csv, requests_X.csv, steps_X.csv, trace.csv, noise.csv, gate.csv, kernels.csv, predicates.csv, figures.csv,"
        " external.csv, claims.csv, instrument.csv or pages.csv"
    )


def read_bytes(path: Path) -> bytes:
    """Content of a CSV, unpacked if it is gzipped."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SchemaError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise SchemaError(f"{path}: is a folder; expected a CSV file") from None
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read: {error.strerror}") from None
    if not path.name.endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise SchemaError(f"{path}: not a whole gzip file ({error}); compress the CSV again") from None


def text_of(path: Path, content: bytes) -> str:
    """The text of a CSV. Raises SchemaError where it is none."""
    try:
        text = content.decode("utf8")
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path}: not UTF-8 at byte {error.start}; write it again as UTF-8") from None
    if "\0" in text:
        raise SchemaError(f"{path}: line {text[: text.index(chr(0))].count(chr(10)) + 1}: a NUL character; expected text")
    return text


def read_rows(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows and the line on which each row ends. Raises SchemaError on a ragged or unreadable file."""
    return parse(path, text_of(path, read_bytes(path)))


def parse(path: Path, text: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Header, rows and the line on which each row ends. Raises SchemaError on a ragged text."""
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(reader)
        rows, lines = [], []
        for row in reader:
            rows.append(row)
            lines.append(reader.line_num)
    except StopIteration:
        raise SchemaError(f"{path}: empty file; expected a header line") from None
    except csv.Error as error:
        raise SchemaError(f"{path}: line {reader.line_num}: {error}") from None
    for row, line in zip(rows, lines):
        if len(row) != len(header):
            raise SchemaError(f"{path}: line {line}: {len(row)} cells, the header has {len(header)}")
    return header, rows, lines


def columns_of(path: Path, text: str) -> tuple[list[str], dict[str, tuple[str, ...]], list[int]]:
    """Header, column -> its cells as text, and the line on which each row ends. Raises SchemaError on a ragged text."""
    lines = text.removesuffix("\n").split("\n")
    width = lines[0].count(",") + 1
    # most files have nothing but commas and line ends to divide them, and are divided in a third of the time that a reader of CSV takes
    plain = '"' not in text and "\r" not in text and all(lines) and max(map(len, lines)) < csv.field_size_limit()
    if plain and set(map(str.count, lines, repeat(","))) == {width - 1}:
        cells = ",".join(lines).split(",")
        return cells[:width], {cells[at]: tuple(cells[width + at :: width]) for at in range(width)}, list(range(2, len(lines) + 1))
    header, rows, ends = parse(path, text)
    return header, dict(zip(header, zip(*rows))) if rows else {name: () for name in header}, ends


def check_header(path: Path, header: list[str], kind: str) -> None:
    known = schema(kind)["properties"]
    for name in header:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise SchemaError(
                f"{path}: line 1: unknown column {name!r}"
                + (f"; did you mean {near[0]!r}?" if near else f"; see workflow/schemas/{kind}.schema.json")
            )
    if len(set(header)) != len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise SchemaError(f"{path}: line 1: column {twice!r} stands twice")
    for name in schema(kind)["required"]:
        if name not in header:
            raise SchemaError(f"{path}: line 1: column {name!r} is missing")


def types_of(rule: dict) -> list[str]:
    """The JSON types that a column may have."""
    return rule["type"] if isinstance(rule["type"], list) else [rule["type"]]


def describe(rule: dict) -> str:
    """What a cell of this column may hold, in words."""
    types = types_of(rule)
    if "enum" in rule:
        text = "one of " + ", ".join(str(value) for value in rule["enum"] if value is not None)
    else:
        text = " or ".join({"integer": "an integer", "number": "a finite number", "string": "text"}[t] for t in types if t != "null")
        bounds = [
            f"{sign} {rule[word]}" for word, sign in (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<=")) if word in rule
        ]
        text += "".join(" " + bound for bound in bounds)
        if "pattern" in rule:
            text += f" like {rule['pattern']}"
    return text + (" or nothing" if "null" in types else "")


NUMERAL = {
    "integer": re.compile(r"-?[0-9]+").fullmatch,
    "number": re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch,
}
"""How a number is written. Python would read more: `1_0`, full-width digits, a leading space, a plus sign."""
NUMERALS = {
    "integer": re.compile(r"(?:-?+[0-9]{1,300}+\n)++").fullmatch,
    "number": re.compile(r"(?:-?+[0-9]{1,300}+(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+\n)++").fullmatch,
}
"""The same of many at once, a line each, and none so long that it is infinite without an exponent."""


@functools.cache
def pattern(text: str):
    """Search of a schema's pattern; unlike Python's, its `$` does not match before a line end."""
    return re.compile(text.removesuffix("$") + r"\Z" if text.endswith("$") else text).search


def rule_of(rule: dict) -> Callable[[str], bool]:
    """Whether one cell satisfies its column's rule. An empty cell is null."""
    types = types_of(rule)
    empty = "null" in types
    if "enum" in rule:
        names = {str(value) for value in rule["enum"] if value is not None} - {""} | ({""} if empty else set())
        return names.__contains__
    least, most, above = rule.get("minimum", -math.inf), rule.get("maximum", math.inf), rule.get("exclusiveMinimum", -math.inf)
    numerals = [NUMERAL[kind] for kind in types if kind in NUMERAL]
    shortest, like = rule.get("minLength", 0), pattern(rule["pattern"]) if "pattern" in rule else None

    strings = "string" in types

    def allowed(text: str) -> bool:
        if text == "":
            return empty
        if strings and len(text) >= shortest and (like is None or like(text)):
            return True
        for numeral in numerals:
            if numeral(text) and least <= (number := float(text)) <= most and number > above and abs(number) != math.inf:
                return True
        return False

    return allowed


def numbers_within(rule: dict, texts: set[str]) -> bool:
    """Whether a column holds nothing but numbers that its rule allows: most do, and all of one are checked at once. False says nothing yet."""
    types = types_of(rule)
    kinds = [kind for kind in types if kind in NUMERAL]
    texts = texts - {""} if "null" in types else texts
    if not texts or len(kinds) != 1 or not rule.keys() <= {"type", "unit", "description", "minimum", "maximum", "exclusiveMinimum"}:
        return False
    written = "\n".join(texts) + "\n"
    if written.count("\n") != len(texts) or not NUMERALS[kinds[0]](written):
        return False
    if rule.get("minimum", 0) <= 0 and not rule.keys() & {"maximum", "exclusiveMinimum"} and not any(sign in written for sign in "-eE"):
        return True  # without a sign or an exponent it is finite and not below zero
    numbers = list(map(float, texts))
    least, most = min(numbers), max(numbers)
    return rule.get("minimum", -math.inf) <= least > rule.get("exclusiveMinimum", -math.inf) and most <= rule.get("maximum", math.inf) and most < math.inf


def check_column(path: Path, name: str, rule: dict, cells: tuple[str, ...], lines: list[int]) -> None:
    """Raise SchemaError on the first cell of a column that its rule forbids; equal texts are checked once."""
    texts = set(cells)
    if numbers_within(rule, texts):
        return
    allowed = rule_of(rule)
    bad = {text for text in texts if not allowed(text)}
    if bad:
        index = next(i for i, text in enumerate(cells) if text in bad)
        raise SchemaError(f"{path}: line {lines[index]}, column {name}: {cells[index]!r} is not {describe(rule)}")


def check_table(path: Path, kind: str, header: list[str], columns: dict[str, tuple[str, ...]], lines: list[int]) -> None:
    """Validate a parsed CSV."""
    check_header(path, header, kind)
    properties = schema(kind)["properties"]
    measured, skipped = skips.apart(schema(kind), columns, len(lines))
    for i in skipped:
        if found := skips.fault(schema(kind), {name: cells[i] for name, cells in columns.items()}):
            raise SchemaError(skips.where(path, lines[i], found))
    for name, cells in columns.items():
        if skipped:
            kept = [i for i in skipped if cells[i]] + measured
            check_column(path, name, properties[name], tuple(cells[i] for i in kept), [lines[i] for i in kept])
        else:
            check_column(path, name, properties[name], cells, lines)
    if (name := NAMED_BY.get(kind)) is not None:
        seen: dict[str, int] = {}
        for text, line in zip(columns[name], lines):
            if text in seen:
                raise SchemaError(
                    f"{path}: line {line}, column {name}: {text!r} stands on line {seen[text]} already; each row needs its own"
                )
            seen[text] = line


def validate_csv(path: Path | str) -> int:
    """Check one CSV against its schema and return its number of rows. Raises SchemaError."""
    path = Path(path)
    header, columns, lines = columns_of(path, text_of(path, read_bytes(path)))
    check_table(path, kind_of(path), header, columns, lines)
    return len(lines)


def manifest_path(csv_path: Path) -> Path:
    return csv_path.with_name(csv_path.name.removesuffix(".gz").removesuffix(".csv") + ".manifest.json")


def read_json(path: Path) -> dict:
    try:
        return json.loads(path.read_text("utf8"), parse_constant=lambda word: math.nan, object_pairs_hook=once)
    except FileNotFoundError:
        raise SchemaError(f"{path}: no such file; every measured CSV has its manifest beside it") from None
    except IsADirectoryError:
        raise SchemaError(f"{path}: is a folder; expected a JSON file") from None
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read: {error.strerror}") from None
    except TwiceError as error:
        raise SchemaError(f"{path}: {error}") from None
    except json.JSONDecodeError as error:
        raise SchemaError(f"{path}: line {error.lineno}: not JSON: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise SchemaError(f"{path}: not UTF-8 at byte {error.start}; write it again as UTF-8") from None
    except RecursionError:
        raise SchemaError(f"{path}: nested too deeply; nothing that this project writes is") from None
    except ValueError as error:  # an integer of thousands of digits
        raise SchemaError(f"{path}: a value cannot be read: {error}") from None


class TwiceError(ValueError):
    """A key that stands twice in one JSON object."""


def once(pairs: list[tuple[str, object]]) -> dict:
    """A JSON object of its pairs."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise TwiceError(f"key {next(name for name in names if names.count(name) > 1)!r} stands twice; keep one of the two")
    return found


@functools.cache
def compiled(name: str) -> Predicate | None:
    """The schema as one function; None when it has a keyword that is not compiled."""
    documents = {f"{each}.schema.json": schema(each) for each in dict.fromkeys((name, "values", "claims"))}
    try:
        return Compiler(documents).document(f"{name}.schema.json")
    except NotCompiled:
        return None


@functools.cache
def validator(name: str):
    """A jsonschema validator for whole JSON documents; schemas may refer to one another by `$id`."""
    import jsonschema  # slow to import, and the row checks do not need it
    import referencing

    known = referencing.Registry().with_resources(
        (s["$id"], referencing.Resource.from_contents(s)) for s in (schema("values"), schema("claims"))
    )
    return jsonschema.Draft202012Validator(schema(name), registry=known)


def check_document(path: Path, data: dict, name: str) -> None:
    """Raise SchemaError naming the field of a JSON or YAML document that its schema forbids, and what the schema says it is."""
    holds = compiled(name)
    if holds is not None and holds(data):
        return
    error = next(iter(validator(name).iter_errors(data)), None)
    if error is not None:
        where = ".".join(map(str, error.absolute_path)) or "the document"
        wanted = error.schema.get("description", "") if isinstance(error.schema, dict) and error.absolute_path else ""
        raise SchemaError(f"{path}: {where}: {' '.join(error.message.split())[:200]}" + (f"; expected: {wanted}" if wanted else ""))
    if holds is not None:
        raise SchemaError(f"{path}: breaks workflow/schemas/{name}.schema.json")


def validate_manifest(path: Path | str, csv_path: Path | str, rows: int | None = None, content: bytes | None = None) -> dict:
    """Check a manifest against its schema and the CSV it describes (`rows`, `content`: their number and its bytes, if known). Returns it; raises SchemaError."""
    path, csv_path = Path(path), Path(csv_path)
    if not csv_path.exists() and csv_path.with_name(csv_path.name + ".gz").exists():
        csv_path = csv_path.with_name(csv_path.name + ".gz")
    data = read_json(path)
    check_document(path, data, "manifest")
    expected = {"file": csv_path.name.removesuffix(".gz"), "kind": kind_of(csv_path)}
    for name, value in expected.items():
        if data[name] != value:
            raise SchemaError(f"{path}: {name}: {data[name]!r}, but it stands beside {csv_path.name}; expected {value!r}")
    content = read_bytes(csv_path) if content is None else content
    digest = hashlib.sha256(content).hexdigest()
    if digest != data["sha256"]:
        raise SchemaError(
            f"{path}: sha256: {data['sha256'][:12]}… but {csv_path.name} has {digest[:12]}…; the CSV is not the one that was measured"
        )
    rows = len(read_rows(csv_path)[1]) if rows is None else rows
    if rows != data["rows"]:
        raise SchemaError(f"{path}: rows: {data['rows']} but {csv_path.name} has {rows}")
    return data
