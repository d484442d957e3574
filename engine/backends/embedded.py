"""The embedded engine as a child process: boot it, hand it loads, stop it. A process that dies is a classified result."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict
from typing import Any, ClassVar, Self

from engine.backends.base import CAPABILITIES, EngineFailure
from engine.backends.worker_pool import WorkerPool
from engine.backends.worker_process import WORKER, Ended, WorkerProcess
from engine.config import EngineConfig

BOOT_TIMEOUT_S = 120.0
PROBE_TIMEOUT_S = 60.0


class EmbeddedBackend:
    """One boot. `boot()` first, then any number of `run()`, then `stop()`; also a context manager."""

    capabilities = frozenset(CAPABILITIES)
    flushes = True
    """Every run starts with an empty prefix cache; a server that cannot do this gets a nonce in front of each prompt."""
    worker: ClassVar[tuple[str, ...]] = WORKER
    """Command of the process."""

    def __init__(self, config: EngineConfig, cpu: int | None = None, process: WorkerProcess | None = None, fault: str | None = None) -> None:
        """`process`: one of the `pool`, where this boot has not to start its own; `fault` breaks this boot on purpose (engine.bench.faults)."""
        self.config = config
        self.cpu = cpu
        self.fault = fault
        self.info: dict[str, Any] = {}
        self.boot_s = 0.0
        self.process = process or WorkerProcess(config.threads, cpu, self.worker)

    @classmethod
    def pool(cls, threads: int, cpu: int | None) -> WorkerPool:
        return WorkerPool(threads, cpu, cls.worker)

    @property
    def alive(self) -> bool:
        return self.process.alive

    def boot(self, timeout_s: float = BOOT_TIMEOUT_S) -> dict[str, Any]:
        """Start the engine; returns its server_info. `boot_s`: the process's imports, and from the order to the answer.

        What it waited between the two, while others imported or booted, is in neither.
        """
        config = {**asdict(self.config), "weights": str(self.config.weights)}
        try:
            self.process.ready()
        except Ended:
            raise self.death() from None
        begin = time.perf_counter()
        self.info = self.ask({"order": "boot", "config": config, "fault": self.fault, "cpu": self.cpu}, timeout_s)
        self.boot_s = self.process.start_s + time.perf_counter() - begin
        self.info["free_huge_share"] = self.process.free_huge_share
        return self.info

    def run(
        self, requests: list[dict], max_concurrency: int, timeout_s: float, trace: bool = False, due_s: list[float] | None = None
    ) -> dict[str, Any]:
        """One closed loop over `requests`, or an open one where they have due times; times in the answer are seconds after its start."""
        order = {"order": "run", "requests": requests, "max_concurrency": max_concurrency, "trace": trace, "due_s": due_s}
        return self.ask(order, timeout_s)

    def probe(self, timeout_s: float = PROBE_TIMEOUT_S) -> dict[str, float]:
        """The machine's speed right now, on the processor of this boot."""
        return self.ask({"order": "probe"}, timeout_s)

    def ask(self, order: dict, timeout_s: float) -> dict[str, Any]:
        try:
            return self.process.ask(order, timeout_s)
        except Ended:
            raise self.death() from None

    def death(self) -> EngineFailure:
        """The process is gone. Native code aborts where it cannot allocate: under a memory budget that is oom."""
        words = self.process.last_words()
        aborted = self.config.device_memory and self.process.returncode == -signal.SIGABRT
        return EngineFailure("oom", f"{words} under --device-memory {self.config.device_memory}") if aborted else EngineFailure("crash", words)

    def told(self, failure: EngineFailure) -> EngineFailure:
        """What ended the process, where it is gone; else the failure itself."""
        return failure if self.alive else self.death()

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        self.process.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
