"""Files written together: all of them, or none."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path


class OutputError(ValueError):
    """A place that cannot be written; the message names it and what would be right."""


def json_lines(document: dict) -> str:
    """A JSON document with a line for each entry of its tables, so that a diff shows what moved. Keys in order; no NaN."""

    one = json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False).encode

    def table(value) -> str:
        if not isinstance(value, dict) or not value:
            return one(value)
        return "{\n" + ",\n".join(f"  {one(key)}: {one(value[key])}" for key in sorted(value)) + "\n }"

    return "{\n" + ",\n".join(f" {one(key)}: {table(document[key])}" for key in sorted(document)) + "\n}\n"


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write each file beside its place first and rename when all are written. Raises OutputError, leaving the old files."""
    parts: dict[Path, Path] = {}
    place: Path | None = None
    try:
        for path, content in contents.items():
            place = path
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise OutputError(f"{path}: is a folder; expected a file or nothing there")
            parts[path] = path.with_name(f".{path.name}.part")
            parts[path].write_bytes(content.encode("utf8") if isinstance(content, str) else content)
        for path, part in parts.items():
            place = path
            os.replace(part, path)
    except OSError as error:
        # a write that fails half-way (a full disk) knows no file name
        raise OutputError(f"{error.filename or place}: cannot be written: {error.strerror}; name a folder that can be") from None
    finally:
        for part in parts.values():
            discard(part)


def discard(part: Path) -> None:
    """Remove what was written beside, if it is there and can be."""
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return  # a folder that became read-only keeps it; the next run writes over it
