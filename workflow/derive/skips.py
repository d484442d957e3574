"""Rows that stand for what was not measured: their `status` is `skipped` and their `note` says why.

A schema with the keyword `skipped` has such rows and names the columns that they may fill. They are no measurement, no failure and no missing value,
so they are set apart when a file is read; points are rows of their own kind and keep theirs, whatever their status.
"""

from __future__ import annotations

from pathlib import Path

SKIPPED = "skipped"


def apart(schema: dict, columns: dict[str, tuple[str, ...]], count: int) -> tuple[list[int], list[int]]:
    """Indices of the rows that were measured, and of those that say that they were skipped. `count`: rows in all."""
    states = columns.get("status", ())
    if SKIPPED not in schema or SKIPPED not in states:
        return list(range(count)), []
    return [i for i, state in enumerate(states) if state != SKIPPED], [i for i, state in enumerate(states) if state == SKIPPED]


def fault(schema: dict, row: dict[str, str]) -> tuple[str, str] | None:
    """Column and fault of a skipped row that holds what it cannot have, or that does not say why; its filled cells keep their own rules."""
    own = {*schema[SKIPPED]["columns"], "status", "note"}
    for name, text in row.items():
        if text and name not in own:
            return name, f"{text!r} stands in a row that was skipped; expected nothing"
    if not row.get("note"):
        return "note", "'' is no reason; expected why the row was skipped"
    return None


def where(path: Path, line: int, found: tuple[str, str]) -> str:
    return f"{path}: line {line}, column {found[0]}: {found[1]}"
