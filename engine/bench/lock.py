"""One measurement at a time on a machine, whichever checkout or user started it."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

POLL_S = 0.5


def lock_path() -> Path:
    """The same file for every checkout on this machine."""
    return Path(tempfile.gettempdir()) / "soundings-measuring.lock"


def hold_machine(say: Callable[[str], None], path: Path | None = None) -> IO[str]:
    """Wait until nobody else measures here, then hold the machine until the returned file is closed or the process ends.

    The kernel frees the lock of a process that died, so a stale lock cannot exist. OSError when the file cannot be opened.
    """
    path = path or lock_path()
    # a lock that another user's umask made unwritable would otherwise block nobody but us
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    handle = os.fdopen(descriptor, "r+", encoding="utf8")
    waiting = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if not waiting:
                handle.seek(0)
                say(f"waiting: process {handle.readline().strip() or 'unknown'} measures on this machine ({path})")
                waiting = True
            time.sleep(POLL_S)
    handle.seek(0)
    handle.truncate()
    handle.write(f"{os.getpid()}\n")
    handle.flush()
    return handle
