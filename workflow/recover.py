"""What a killed workflow leaves behind in `.snakemake`, cleared when nobody is alive to need it.

After a kill -9 Snakemake refuses to start ("cannot be locked"), and then to trust the outputs of the job it was in. Both marks are safe to drop here:
every program of this project writes beside and renames, so an output is whole or absent, and what is older than its inputs is built again by its time.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

MARKS = ("locks", "incomplete")
_held: list[IO[bytes]] = []
"""Locks of this process; the kernel frees them when it ends, however it ends."""


def drop_stale_marks(root: Path) -> list[str]:
    """Remove Snakemake's locks and incomplete marks below `root` unless another workflow runs there.

    Returns what was removed, relative to `.snakemake`. The process keeps a lock of its own until it ends, by which the next one knows that it lives.
    """
    folder = root / ".snakemake"
    try:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(folder / "soundings.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return []  # a read-only checkout: Snakemake says what it cannot do
    handle = os.fdopen(descriptor, "r+b")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        return []
    _held.append(handle)
    dropped = []
    for kind in MARKS:
        for path in sorted((folder / kind).rglob("*")):
            if path.is_file():
                path.unlink()
                dropped.append(f"{kind}/{path.name}")
    return dropped
