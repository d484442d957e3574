"""A worker process (engine.bench.worker) seen from outside: its pipes, its imports, its end. It asks nothing of an engine."""

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
from typing import Any

from engine.backends.base import EngineFailure
from engine.config import ConfigError

WORKER = (sys.executable, "-m", "engine.bench.worker")
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 5.0
# Libraries read these when they are loaded, before anything can be set from inside.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment(threads: int) -> dict[str, str]:
    """That of a measuring process, with its thread count."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


class Ended(EngineFailure):
    """The process is gone; the note says how."""

    def __init__(self, note: str) -> None:
        super().__init__("crash", note)


class WorkerProcess:
    """One process. It imports what an engine needs at once, unasked; `ready()` waits until it has."""

    def __init__(self, threads: int, cpu: int | None = None, command: tuple[str, ...] = WORKER) -> None:
        """`cpu`: the processor on which it imports; where it serves is said with its boot."""
        self.cpu = cpu
        self.start_s: float | None = None
        """From the start of the process until it had imported everything; None before."""
        self.cpu_s = 0.0
        """Processor time of that."""
        self.share_s = 0.0
        """What of the command's time its imports took: of several processes that imported at once each has an equal part."""
        self.free_huge_share: float | None = None
        """Of free memory when it started, in blocks of 2 MiB and more."""
        self.failure: EngineFailure | None = None
        self.buffer = b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 closed by stop()
        words = [*command, *(["--cpu", str(cpu)] if cpu is not None else [])]
        self.started = time.monotonic()
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment(threads))
        with contextlib.suppress(Ended):
            # whoever is dead this early is found to be so by ready()
            self.tell({"order": "ready"})

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def returncode(self) -> int | None:
        return self.process.returncode

    def ready(self) -> None:
        """Wait for the imports. EngineFailure, at every call, where the process ended or hung instead."""
        if self.failure is None and self.start_s is None:
            try:
                done = self.answer(self.started + START_TIMEOUT_S - time.monotonic())
                # by its own word: it may have been done long before it is asked
                self.cpu_s, self.start_s = done["cpu_s"], done["at_s"] - self.started
            except EngineFailure as failure:
                self.failure = failure
        if self.failure is not None:
            raise self.failure

    def ask(self, order: dict, timeout_s: float) -> dict[str, Any]:
        """The answer to an order. ConfigError or EngineFailure where it is no good one."""
        self.tell(order)
        return self.answer(timeout_s)

    def tell(self, order: dict) -> None:
        try:
            self.process.stdin.write(json.dumps(order).encode("utf8") + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Ended(self.last_words()) from None

    def answer(self, timeout_s: float) -> dict[str, Any]:
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
                raise Ended(self.last_words())
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

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
                # the end of its input ends a worker, and its own end is that of its output: `wait` alone would look in steps of up to 50 ms
                self.process.stdin.close()
                select.select([self.process.stdout], [], [], STOP_TIMEOUT_S)
                self.process.wait(STOP_TIMEOUT_S)
            except (BrokenPipeError, subprocess.TimeoutExpired):
                self.kill()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()
