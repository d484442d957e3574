"""Worker processes that have imported everything and wait for their boot.

Imports take most of a boot and know no engine. So they are done by several processes at once, a processor each, and never while
anything is measured: whoever takes a process waits until all of them have imported, and from then on those left over only sleep.
A command that times nothing may have the next ones import on other processors while it works (`ahead`).
"""

from __future__ import annotations

import contextlib
import os
import select
import time
import weakref
from collections.abc import Sequence

from engine.backends.base import EngineFailure
from engine.backends.worker_process import START_TIMEOUT_S, WORKER, WorkerProcess
from engine.bench import contiguity
from engine.machine import beside

MOST = 4
"""Processes that import at once: what is not taken by the end of a command has imported in vain."""


def import_all(group: list[WorkerProcess]) -> None:
    """Wait until every process has imported; one that ended instead says so when it is asked to boot."""
    begin = time.perf_counter()
    waiting = {process.process.stdout: process for process in group}
    while waiting:
        found, _, _ = select.select(list(waiting), [], [], START_TIMEOUT_S)
        for pipe in found or list(waiting):
            with contextlib.suppress(EngineFailure):
                waiting.pop(pipe).ready()
    for process in group:
        process.share_s = (time.perf_counter() - begin) / len(group)


def stop_all(processes: list[WorkerProcess]) -> None:
    while processes:
        processes.pop().stop()


class WorkerPool:
    """Processes for one command, whose boots all have the same threads and the same processor."""

    def __init__(self, threads: int, cpu: int | None, command: tuple[str, ...] = WORKER) -> None:
        self.threads, self.cpu, self.command = threads, cpu, command
        self.waiting: list[WorkerProcess] = []
        self.importing: list[WorkerProcess] = []
        """Those that wait and were not yet seen to have imported."""
        self.elsewhere_s = 0.0
        """Processor time of imports on other processors than the one that is measured on."""
        # a command that fails ends them too
        weakref.finalize(self, stop_all, self.waiting)

    @property
    def processors(self) -> list[int | None]:
        """Where a group imports, the measured processor first; None: wherever the system likes, where boots are not pinned."""
        if self.cpu is None:
            return [None] * min(MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
        return [self.cpu, *beside(self.cpu)][:MOST]

    def start(self, cpus: Sequence[int | None]) -> None:
        share = contiguity.settle()
        for cpu in cpus:
            # one by one, so that a start that fails leaves none behind
            self.waiting.append(WorkerProcess(self.threads, cpu, self.command))
            self.waiting[-1].free_huge_share = share
            self.importing.append(self.waiting[-1])

    def ahead(self, most: int) -> None:
        """Where none waits, have up to `most` processes import on other processors than the measured one; do not wait for them.

        Nothing may be measured from here to the end of the next `take`.
        """
        if not self.waiting:
            self.start([cpu for cpu in self.processors if cpu != self.cpu][:most])

    def take(self) -> WorkerProcess:
        """One that has imported. Nothing may be measured during this call: it may have to start a group."""
        if not self.waiting:
            self.start(self.processors)
        if self.importing:
            import_all(self.importing)
            self.elsewhere_s += sum(process.cpu_s for process in self.importing if process.cpu != self.cpu)
            self.importing = []
        return self.waiting.pop(0)

    def close(self) -> None:
        """End those that wait."""
        stop_all(self.waiting)
