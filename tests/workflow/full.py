"""A disk that is full, for real: a small file system of its own where one may be mounted, else a limit on the size of files."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

SMALLEST = 512
"""Bytes that a file may have under the limit: enough for a lock, too little for anything that a program of ours publishes."""
FILLER = ".filler"


@contextlib.contextmanager
def mounted(folder: Path, size: str = "64m") -> Iterator[bool]:
    """A file system of its own at `folder`; False where nothing may be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    done = run("mount", "-t", "tmpfs", "-o", f"size={size}", "soundings-test", str(folder))
    try:
        yield done
    finally:
        if done:
            run("umount", "-l", str(folder))


def may_mount(folder: Path) -> bool:
    with mounted(folder) as done:
        return done


def run(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


@contextlib.contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Not one byte is left in the file system of `folder` for the length of the block."""
    filler = folder / FILLER
    with open(filler, "wb", buffering=0) as file:
        for block in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(block))
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def limited(folder: Path) -> Iterator[None]:
    """Files of this process and its children may not grow beyond a few bytes: what a write then meets is what a full disk gives, under another number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALLEST, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing may be written below `folder`: by the file system where it is one of its own, by its mode otherwise (which does not bind root)."""
    if os.path.ismount(folder):
        assert run("mount", "-o", "remount,ro", str(folder))
        try:
            yield
        finally:
            assert run("mount", "-o", "remount,rw", str(folder))
        return
    before = {path: path.stat().st_mode for path in (folder, *folder.rglob("*")) if path.is_dir()}
    try:
        for path in before:
            path.chmod(0o555)
        yield
    finally:
        for path, mode in before.items():
            path.chmod(mode)


Trouble = Callable[[Path], contextlib.AbstractContextManager[None]]
SAYS: dict[Trouble, tuple[str, ...]] = {
    filled: (os.strerror(errno.ENOSPC),),
    limited: (os.strerror(errno.EFBIG), os.strerror(errno.ENOSPC)),
    read_only: (os.strerror(errno.EROFS), os.strerror(errno.EACCES)),
}
"""Trouble -> what the system calls it."""
