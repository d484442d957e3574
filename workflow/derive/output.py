"""Files written together: all of them, or none."""

from __future__ import annotations

import os
from pathlib import Path


class OutputError(ValueError):
    """A place that cannot be written; the message names it and what would be right."""


def write_together(texts: dict[Path, str]) -> None:
    """Write each file beside its place first and rename when all are written. Raises OutputError, leaving the old files."""
    parts: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise OutputError(f"{path}: is a folder; expected a file or nothing there")
            parts[path] = path.with_name(f".{path.name}.part")
            parts[path].write_text(text, "utf8")
        for path, part in parts.items():
            os.replace(part, path)
    except OSError as error:
        place = error.filename or next(iter(texts))
        raise OutputError(f"{place}: cannot be written: {error.strerror}; name a folder that can be") from None
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)
