"""A memory budget that is real on a CPU: RLIMIT_DATA of the process, and what the process sees of it.

The kernel refuses private writable memory beyond the limit, so whatever allocates (torch, oneDNN, Python) meets
the same wall. The limit can only be lowered and holds for the whole process: it belongs into a child that serves one
boot. glibc must return freed blocks at once (`return_freed_memory`), or the wall moves with what ran before. That costs a page fault
for every 4 KiB of a large temporary, a third of a prefill's time; a boot without a budget has no wall and keeps what it has freed.
"""

from __future__ import annotations

import ctypes
import re
import resource
from collections.abc import Callable

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
"""glibc's mallopt keys."""
MMAP_THRESHOLD = 1 << 16
"""Blocks of at least this many bytes are mapped on their own and unmapped when freed, under a budget."""
KEPT_BYTES = 1 << 28
"""Without a budget, blocks below this many bytes come from the heap, which keeps as much at its top."""
FAILURES = ("can't allocate memory", "cannot allocate memory", "out of memory", "not enough memory", "bad_alloc", "could not create a memory")
"""How torch, the C++ library and oneDNN say it."""


class MemoryExhausted(RuntimeError):
    """An allocation did not fit. Bytes are None where the failing library did not say.

    `free_bytes` is read when the fault arrives: temporaries of the failed call may be gone by then, so it can exceed what was asked.
    """

    def __init__(self, asked_bytes: int | None, free_bytes: int | None) -> None:
        asked = "an unknown number of" if asked_bytes is None else asked_bytes
        free = "unknown" if free_bytes is None else free_bytes
        super().__init__(f"out of memory: asked {asked} bytes, {free} free")
        self.asked_bytes, self.free_bytes = asked_bytes, free_bytes


UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
ASKED = re.compile(r"asked (\d+) (bytes)|[Tt]ried to allocate ([\d.]+) ([KMG]iB|bytes)")
FREE = re.compile(r"bytes, (\d+) (free)|of which ([\d.]+) ([KMG]iB|bytes) is free")
"""As `MemoryExhausted` says it, and torch of a CUDA device."""


def said_bytes(text: str) -> tuple[int | None, int | None]:
    """(asked, free) bytes of an allocation failure told in words, by `MemoryExhausted` or by torch; None where the words do not say."""
    return counted(ASKED.search(text)), counted(FREE.search(text))


def counted(found: re.Match[str] | None) -> int | None:
    if found is None:
        return None
    return int(found[1]) if found[1] else round(float(found[3]) * UNITS[found[4]])


def allocation_failure(fault: BaseException, limit: ProcessMemory | None = None) -> MemoryExhausted | None:
    """`fault` as MemoryExhausted when it says that memory ran out, else None."""
    if isinstance(fault, MemoryExhausted):
        return fault
    text = str(fault)
    if not isinstance(fault, MemoryError) and not any(words in text.lower() for words in FAILURES):
        return None
    asked = re.search(r"allocate (\d+) bytes", text)
    return MemoryExhausted(int(asked[1]) if asked else None, limit.free_bytes() if limit else None)


class ProcessMemory:
    """This process's memory: how much there is, how much of it is left, and its peak since boot."""

    def __init__(self) -> None:
        self.limit_bytes: int | None = None
        self._base_rss: int | None = None

    def return_freed_memory(self) -> None:
        """Ask glibc to keep no freed block; other C libraries do as they like."""
        _tune_malloc(MMAP_THRESHOLD)

    def keep_freed_memory(self) -> None:
        """Ask glibc to keep freed blocks for the next step's temporaries; other C libraries do as they like."""
        _tune_malloc(KEPT_BYTES)

    def enforce(self, more_bytes: int) -> None:
        """From now on this process may take `more_bytes` beyond what it has."""
        self.limit_bytes = data_bytes() + more_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (self.limit_bytes, self.limit_bytes))

    def free_bytes(self) -> int | None:
        """Bytes that still fit under the limit; None without one."""
        return None if self.limit_bytes is None else max(0, self.limit_bytes - data_bytes())

    def watch_peak(self) -> None:
        """Start to watch the resident peak; every page of the pools must have been touched."""
        _c_function("malloc_trim")(0)
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
                file.write("5")
        except OSError:
            return
        self._base_rss = _status("VmRSS")

    def peak_bytes(self) -> int | None:
        """Largest transient use since `watch_peak`: activations; None where the system does not tell."""
        return None if self._base_rss is None else max(0, _status("VmHWM") - self._base_rss)


def _tune_malloc(threshold: int) -> None:
    mallopt = _c_function("mallopt")
    for key, value in ((M_MMAP_THRESHOLD, threshold), (M_TRIM_THRESHOLD, threshold), (M_ARENA_MAX, 1)):
        mallopt(key, value)


def _c_function(name: str) -> Callable[..., int]:
    """A function of the C library; one that does nothing where the library has none of that name."""
    try:
        return getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return lambda *values: 0


def data_bytes() -> int:
    """Private writable memory of this process, what RLIMIT_DATA counts."""
    return _status("VmData")


def _status(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
