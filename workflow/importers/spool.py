"""Rows that may be more than memory holds: written to a file without a name, read back in order."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator


class Spool(Collection):
    """Append rows, then iterate as often as wanted. Rows are JSON objects."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile("w+", encoding="utf8")  # noqa: SIM115  gone with the object
        self.count = 0

    def append(self, row: dict) -> None:
        self.file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.count += 1

    def __contains__(self, row: object) -> bool:
        return any(row == one for one in self)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[dict]:
        self.file.seek(0)
        while line := self.file.readline():
            yield json.loads(line)
