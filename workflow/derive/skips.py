"""Rows that stand for what was not measured: their `status` is `skipped`, or says how it failed, and their `note` says why.

A schema with the keyword `skipped` has such rows and names the columns that they may fill, and their statuses where there are others. They hold no
measured value and no missing one, so they are set apart when a file is read; points are rows of their own kind and keep theirs, whatever their status.
"""

from __future__ import annotations

from pathlib import Path

SKIPPED = "skipped"


def apart(schema: dict, columns: dict[str, tuple[str, ...]], count: int) -> tuple[list[int], list[int]]:
    """Indices of the rows that were measured, and of those that say that nothing was. `count`: rows in all."""
    states = columns.get("status", ())
    unmeasured = schema[SKIPPED].get("statuses", (SKIPPED,)) if SKIPPED in schema else ()
    if not set(unmeasured) & set(states):
        return list(range(count)), []
    return [i for i, state in enumerate(states) if state not in unmeasured], [i for i, state in enumerate(states) if state in unmeasured]


def fault(schema: dict, row: dict[str, str]) -> tuple[str, str] | None:
    """Column and fault of such a row that holds what it cannot have, or that does not say why; its filled cells keep their own rules."""
    own = {*schema[SKIPPED]["columns"], "status", "note"}
    for name, text in row.items():
        if text and name not in own:
            return name, f"{text!r} stands in a row of status {row['status']}; expected nothing"
    if not row.get("note"):
        return "note", "'' is no reason; expected why nothing was measured"
    return None


def where(path: Path, line: int, found: tuple[str, str]) -> str:
    return f"{path}: line {line}, column {found[0]}: {found[1]}"
