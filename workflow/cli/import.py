"""`soundings import`: result files of other tools as a campaign."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from workflow.cli import BadInput
from workflow.cli.archive import check_name
from workflow.derive.schema import SchemaError, schema
from workflow.importers.cells import fits, wanted
from workflow.importers.mapping import IDENTIFIED, Mapping, MappingError
from workflow.importers.registry import NAMES
from workflow.importers.report import DROPPED, FAULT, NOTE
from workflow.importers.run import Imported, import_files
from workflow.importers.write import CannotWrite, Described, write

HELP = "turn result files of other tools into a campaign: units converted, what is unknown left empty, what was left out said"
REMARKS = 12
"""Lines of one kind that the text shows."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="[LABEL=]FILE", help="result files; LABEL names the arm that a file measured")
    parser.add_argument("--to", type=Path, required=True, metavar="DIR", help="new folder of the campaign; its name is the campaign's")
    parser.add_argument("--mapping", type=Path, metavar="YAML", help="columns of CSVs that no format knows; see workflow/schemas/mapping.schema.json")
    parser.add_argument(
        "--set", action="append", default=[], metavar="COLUMN=VALUE", dest="declared", help="a column that the files do not give, e.g. temperature=0 or lane=dspark; repeatable"
    )
    parser.add_argument("--hardware", metavar="TEXT", help="what it was measured on (default: what the files say)")
    parser.add_argument("--title-en", metavar="TEXT", help="English title (default: the name)")
    parser.add_argument("--title-zh", metavar="TEXT", help="Chinese title (default: the name)")
    parser.add_argument("--json", action="store_true", help="print what was read, left out and checked as one JSON object")
    parser.epilog = (
        f"Formats, told by content: {', '.join(NAMES)}. Exit code 0: everything was read and every check holds; 1: written, but a part could not be "
        "read or a check fails; 2: nothing could be imported."
    )


def run(arguments: argparse.Namespace) -> int:
    check_name(arguments.to.resolve().name)
    declared = declarations(arguments.declared)
    try:
        mapping = Mapping.load(arguments.mapping) if arguments.mapping else None
    except MappingError as error:
        raise BadInput(str(error)) from None
    done = import_files([labelled(text) for text in arguments.files], mapping, declared)
    if done.empty:
        raise BadInput("; ".join(str(one) for one in done.report.of(FAULT)) or "no result in these files")
    described = Described({"en": arguments.title_en or "", "zh": arguments.title_zh or ""}, arguments.hardware)
    try:
        files = write(done, arguments.to, described, arguments.mapping.name if arguments.mapping else None)
    except (CannotWrite, SchemaError) as error:
        raise BadInput(str(error)) from None
    if arguments.json:
        rows = len(done.collected.points)
        about = {"folder": str(arguments.to), "files": [file.name for file in files], "rows": rows, "requests": done.collected.request_rows}
        about |= {"figures": len(done.collected.figures), "tools": sorted(done.seen.tools), "sources": [one.as_dict() for one in done.sources]}
        print(json.dumps(about | done.report.as_dict(), indent=1, ensure_ascii=False))
    else:
        show(done, arguments.to, len(files))
    return int(done.report.found_wrong)


def labelled(text: str) -> tuple[str | None, Path]:
    """`LABEL=FILE` or `FILE`; a file whose name has the sign is a file."""
    label, sign, path = text.partition("=")
    if not sign or Path(text).exists():
        return None, Path(text)
    if not fits("label", label):
        raise BadInput(f"{label!r} before {path}: a label is text that is no formula of a spreadsheet")
    return label, Path(path)


def declarations(texts: list[str]) -> dict[str, str]:
    """The columns of --set. Raises BadInput naming column and value."""
    rules, found = schema("points")["properties"], {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name not in rules or name in IDENTIFIED:
            raise BadInput(f"--set {text}: expected COLUMN=VALUE with a column of workflow/schemas/points.schema.json, e.g. temperature=0")
        if not value or not fits(name, value):
            raise BadInput(f"--set {text}: {value!r} is not {wanted(name)}")
        found[name] = value
    return found


def show(done: Imported, folder: Path, files: int) -> None:
    for source in done.sources:
        formats = ", ".join(f"{count} x {name}" for name, count in sorted(source.formats.items()))
        print(f"{source.file}: {formats}; {source.rows} kept")
    for kind in (FAULT, DROPPED, NOTE):
        found = done.report.of(kind)
        for one in found[:REMARKS]:
            print(f"{kind}: {one}")
        if len(found) > REMARKS:
            print(f"{kind}: and {len(found) - REMARKS} more; --json has all")
    for (file, name), keys in done.report.unused.items():
        if keys:
            shown = sorted(keys)[:8]
            print(f"no column for: {file} ({name}): {', '.join(shown)}{', …' if len(keys) > len(shown) else ''}")
    for check in done.report.checks.values():
        print(f"check: {check.name}: {check.passed} of {check.run}" + "".join(f"; {text}" for text in check.failed[:2]))
    counts = f"{len(done.collected.points)} rows, {done.collected.request_rows} requests, {len(done.collected.figures)} figures"
    print(f"{folder}: {files} files, {counts}. Hazards: soundings reefs {folder}")
