"""Append-only record of a measuring command: whatever ends the process, finished blocks stay and none counts twice.

A JSON object a line, synced before the next cell starts. Lines: `head` (once), `cell` (rows of one cell), `boot`, `trace`,
`closed` (every cell of a block is in), `lost` (a block that was cut short), `done` (the files were published). A block is
named by a hash of its whole definition, the weights and the code that measured it, so that a journal never passes off rows
of one definition as another's.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, is_dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

Record = dict[str, Any]


def digest(value: object) -> str:
    """Sixteen hex digits over a value made of dataclasses, mappings, sequences and plain values."""
    text = json.dumps(value, sort_keys=True, default=lambda one: asdict(one) if is_dataclass(one) else str(one))
    return hashlib.sha256(text.encode("utf8")).hexdigest()[:16]


def whole_lines(content: bytes) -> Iterator[tuple[Record, int]]:
    """(record, where its line ends) up to the first line that was cut short, or that is no record."""
    end = 0
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            return
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):  # bytes that are no text included
            return
        if not isinstance(record, dict):
            return
        end += len(line)
        yield record, end


def begun(records: Sequence[Record]) -> bool:
    """Whether this is a journal from its first line on."""
    return bool(records) and records[0]["kind"] == "head" and isinstance(records[0].get("epoch"), int | float)


class Journal:
    """One file of one command. Without a path nothing is kept."""

    def __init__(self, path: Path | None, resume: str = "no") -> None:
        """`resume`: `no` starts afresh, `interrupted` goes on with a journal that was not finished, `all` with any."""
        self.path = path
        self.epoch = time.time()
        self.earlier: list[Record] = []
        self.file: BinaryIO | None = None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            self._take_over(path, resume)
        self.file = open(path, "ab")  # noqa: SIM115 closed by close()
        if not self.earlier:
            self.append({"kind": "head", "epoch": self.epoch})

    def _take_over(self, path: Path, resume: str) -> None:
        found = list(takewhile(lambda one: isinstance(one[0].get("kind"), str), whole_lines(path.read_bytes())))
        records = [record for record, _ in found]
        finished = bool(records) and records[-1]["kind"] == "done"
        if resume == "no" or (resume == "interrupted" and finished) or not begun(records):
            path.unlink()
            return
        # half a line that the last crash left behind
        os.truncate(path, found[-1][1])
        self.earlier = records
        self.epoch = records[0]["epoch"]

    @property
    def resumed(self) -> bool:
        return bool(self.earlier)

    @property
    def interrupted(self) -> bool:
        """There is something to go on with, and it was not finished."""
        return self.resumed and self.earlier[-1]["kind"] != "done"

    def append(self, record: Record) -> None:
        """One line, on the disk when this returns."""
        if self.file is None:
            return
        self.file.write(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf8") + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def closed(self, block: str) -> list[Record] | None:
        """Records of a finished block in the order they were written, or None."""
        attempt = next((one["attempt"] for one in self.earlier if one["kind"] == "closed" and one["block"] == block), None)
        if attempt is None:
            return None
        return [one for one in self.earlier if one.get("block") == block and one.get("attempt") == attempt]

    def spent(self) -> list[Record]:
        """Cells and boots of every attempt, also of blocks that were cut short."""
        return [one for one in self.earlier if one["kind"] in ("cell", "boot")]

    def attempts(self) -> int:
        return 1 + max((one["attempt"] for one in self.earlier if "attempt" in one), default=-1)

    def close(self) -> None:
        if self.file:
            self.file.close()
            self.file = None
