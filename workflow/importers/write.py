"""The campaign folder of an import: whole, or not at all."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from workflow.derive import load
from workflow.derive.schema import schema
from workflow.importers.collect import REQUESTS
from workflow.importers.run import Imported
from workflow.importers.source import sha256_of

LINES = 200
"""Remarks of one kind that a manifest keeps."""
BLOCK = 1 << 20


class CannotWrite(ValueError):
    """A folder that cannot be made; the message names it and what would be right."""


@dataclass(frozen=True)
class Described:
    """What a person says about the campaign."""

    titles: dict[str, str]
    hardware: str | None = None
    source: str | None = None


def write(imported: Imported, folder: Path, described: Described, mapping: str | None = None) -> list[Path]:
    """Write campaign.yaml, the CSVs and their manifests into a new folder. Returns the files. Raises CannotWrite; nothing is left behind then."""
    folder = folder.resolve()  # `.` has a name as well
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotWrite(f"{folder}: exists already; name a folder that does not")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        made = beside / folder.name
        made.mkdir()
    except OSError as error:
        raise CannotWrite(f"{folder}: cannot be made: {error.strerror}") from None
    try:
        fill(made, folder.name, imported, described, mapping)
        load.load(made)
        os.replace(made, folder)
    except OSError as error:
        raise CannotWrite(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return sorted(folder.iterdir())


def fill(beside: Path, name: str, imported: Imported, described: Described, mapping: str | None) -> None:
    about = about_import(imported, mapping)
    origin = origin_of(imported, described)

    def manifest(file: str, kind: str, rows: int) -> None:
        record = {
            "schema": 1, "file": file, "kind": kind, "campaign": name, "status": "imported", "command": "soundings import", "rows": rows,
            "sha256": sha256_of(beside / file), "origin": origin, "import": about,
        }  # fmt: skip
        (beside / (file.removesuffix(".csv") + ".manifest.json")).write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf8")

    for family, rows in imported.collected.families().items():
        file = load.file_name("points", family)
        (beside / file).write_text(points_csv(rows, name), "utf8")
        manifest(file, "points", len(rows))
    if imported.collected.request_rows:
        file = load.file_name("requests", imported.collected.loose_family)
        requests_csv(beside / file, imported)
        manifest(file, "requests", imported.collected.request_rows)
    if figures := imported.collected.figures:
        (beside / "figures.csv").write_text(table(list(schema("figures")["required"]), [figures[key] for key in sorted(figures)]), "utf8")
        manifest("figures.csv", "figures", len(figures))
    definition = {
        "name": name,
        "title": {language: described.titles.get(language) or name for language in ("en", "zh")},
        "backend": "imported",
        "hardware": described.hardware or origin["hardware"],
        "source": described.source or f"{origin['publisher']}: {', '.join(origin['files'])}"[:2000],
    }
    head = "# Imported: result files of other tools. No rule measures or writes anything here.\n"
    (beside / "campaign.yaml").write_text(head + yaml.safe_dump(definition, allow_unicode=True, sort_keys=False), "utf8")


def about_import(imported: Imported, mapping: str | None) -> dict:
    told = imported.report.as_dict()
    for kind in ("faults", "dropped", "notes"):
        more = len(told[kind]) - LINES
        told[kind] = told[kind][:LINES] + ([f"and {more} more"] if more > 0 else [])
    return {
        "sources": [source.as_dict() for source in imported.sources],
        "tools": sorted(imported.seen.tools),
        "mapping": mapping,
        "declared": dict(sorted(imported.collected.declared.items())),
        **told,
    }


def origin_of(imported: Imported, described: Described) -> dict:
    """What the files say about themselves, in the words of a publication's origin."""
    seen = imported.seen
    days = sorted(seen.dates)
    devices = sorted({row["device"] for row in imported.collected.points if row.get("device")})
    return {
        "title": described.titles.get("en") or "imported results",
        "publisher": ", ".join(sorted(seen.tools)) or "unknown tool",
        "address": None,
        "published": None,
        "measured": None if not days else days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
        "hardware": described.hardware or ", ".join(devices) or "hardware not stated",
        "model": ", ".join(sorted(seen.models)) or "model not stated",
        "software": ", ".join(sorted(seen.servers)) or "server version not stated",
        "files": [source.file for source in imported.sources],
    }


def points_csv(rows: list[dict[str, str]], campaign: str) -> str:
    """Columns that some row has, in the order of the schema."""
    document = schema("points")
    rows = [{**row, "campaign": campaign} for row in rows]
    columns = [name for name in document["properties"] if name in document["required"] or any(row.get(name) for row in rows)]
    return table(columns, rows)


def requests_csv(path: Path, imported: Imported) -> None:
    """The spooled rows behind their header; copied in blocks."""
    with open(path, "w", encoding="utf8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerow(REQUESTS)
        imported.collected.spool.seek(0)
        shutil.copyfileobj(imported.collected.spool, file, BLOCK)


def table(columns: list[str], rows: list[dict[str, str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    return text.getvalue()
