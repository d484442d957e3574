"""Rows that stand for what was not measured: their `status` is `skipped` and their `note` says why.

A schema with the keyword `skipped` has such rows and names the columns that they may fill. They are no measurement, no failure and no missing value,
so they are set apart when a file is read; points are rows of their own kind and keep theirs, whatever their status.
"""

from __future__ import annotations

from pathlib import Path

SKIPPED = "skipped"


def apart(schema: dict, header: list[str], rows: list[list[str]]) -> tuple[list[int], list[int]]:
    """Indices of the rows that were measured, and of those that say that they were skipped."""
    if SKIPPED not in schema or "status" not in header:
        return list(range(len(rows))), []
    at = header.index("status")
    return [i for i, row in enumerate(rows) if row[at] != SKIPPED], [i for i, row in enumerate(rows) if row[at] == SKIPPED]


def fault(schema: dict, header: list[str], cells: list[str]) -> tuple[str, str] | None:
    """Column and fault of a skipped row that holds what it cannot have, or that does not say why; its filled cells keep their own rules."""
    own = {*schema[SKIPPED]["columns"], "status", "note"}
    for name, text in zip(header, cells):
        if text and name not in own:
            return name, f"{text!r} stands in a row that was skipped; expected nothing"
    if not dict(zip(header, cells)).get("note"):
        return "note", "'' is no reason; expected why the row was skipped"
    return None


def where(path: Path, line: int, found: tuple[str, str]) -> str:
    return f"{path}: line {line}, column {found[0]}: {found[1]}"
