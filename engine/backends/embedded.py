"""The embedded engine as a child process: boot it, hand it loads, stop it. A process that dies is a classified result."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any, Self

from engine.backends.base import CAPABILITIES, EngineFailure
from engine.config import ConfigError, EngineConfig

WORKER = (sys.executable, "-m", "engine.bench.worker")
BOOT_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 5.0
PROBE_TIMEOUT_S = 60.0
# Libraries read these when they are loaded, before anything can be set from inside.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class EmbeddedBackend:
    """One boot. `boot()` first, then any number of `run()`, then `stop()`; also a context manager."""

    capabilities = frozenset(CAPABILITIES)
    flushes = True
    """Every run starts with an empty prefix cache; a server that cannot do this gets a nonce in front of each prompt."""

    def __init__(self, config: EngineConfig, cpu: int | None = None, worker: tuple[str, ...] = WORKER, fault: str | None = None) -> None:
        """`fault` breaks this boot on purpose (engine.bench.faults)."""
        self.config = config
        self.fault = fault
        self.info: dict[str, Any] = {}
        self.boot_s = 0.0
        self.started = time.perf_counter()
        self.buffer = b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 closed by stop()
        environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(config.threads))}
        command = [*worker, *(["--cpu", str(cpu)] if cpu is not None else [])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def boot(self, timeout_s: float = BOOT_TIMEOUT_S) -> dict[str, Any]:
        """Start the engine; returns its server_info. `boot_s` counts from the start of the process."""
        config = {**asdict(self.config), "weights": str(self.config.weights)}
        self.info = self.ask({"order": "boot", "config": config, "fault": self.fault}, timeout_s)
        self.boot_s = time.perf_counter() - self.started
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
            self.process.stdin.write(json.dumps(order).encode("utf8") + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self.death() from None
        answer = json.loads(self.line(timeout_s))
        if "error" not in answer:
            return answer["ok"]
        if answer["error"] == "config":
            raise ConfigError(answer["message"])
        raise EngineFailure(answer["error"], answer["message"])

    def line(self, timeout_s: float) -> bytes:
        """The next answer; kills the process when it takes too long."""
        end = time.monotonic() + timeout_s
        pipe = self.process.stdout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                self.kill()
                raise EngineFailure("timeout", f"no answer within {timeout_s:.0f} s")
            part = os.read(pipe.fileno(), 1 << 16)
            if not part:
                raise self.death()
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def death(self) -> EngineFailure:
        """The process is gone. Native code aborts where it cannot allocate: under a memory budget that is oom."""
        words = self.last_words()
        aborted = self.config.device_memory and self.process.returncode == -signal.SIGABRT
        return EngineFailure("oom", f"{words} under --device-memory {self.config.device_memory}") if aborted else EngineFailure("crash", words)

    def told(self, failure: EngineFailure) -> EngineFailure:
        """What ended the process, where it is gone; else the failure itself."""
        return failure if self.alive else self.death()

    def last_words(self) -> str:
        """Why the process ended: its signal or the last line it wrote to stderr."""
        try:
            code = self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return "engine process closed its answers and did not end"
        if code < 0:
            return f"engine process killed by {signal.Signals(-code).name}"
        self.errors.seek(0)
        lines = self.errors.read().decode("utf8", errors="replace").strip().splitlines()
        return f"engine process ended with code {code}: {lines[-1].strip() if lines else 'no message'}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End the process; kills it when it does not go."""
        if self.alive:
            try:
                # the end of its input ends a worker
                self.process.stdin.close()
                self.process.wait(STOP_TIMEOUT_S)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
