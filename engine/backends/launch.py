"""The processes of one server: a command a rank, each in its own process group, its log in a file; ended on every path."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.backends import reaper
from engine.config import ConfigError

PLACEHOLDERS = ("host", "port", "rank", "nnodes", "dist_init_addr", "name", "model")
KILL_LIMIT_S = 30.0
"""How long a killed rank may take to go: one that hangs in a driver may never."""


def free_port() -> int:
    """A port that nothing on this machine listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def fill(words: Sequence[str], values: Mapping[str, object]) -> list[str]:
    """Words of a template with `{port}` and its like replaced. Other braces stay: a flag may hold JSON."""
    found = []
    for word in words:
        for name in PLACEHOLDERS:
            if f"{{{name}}}" in word:
                if values.get(name) is None:
                    raise ConfigError(f"measure.server: {word!r} asks for {{{name}}}, which this server has no value for")
                word = word.replace(f"{{{name}}}", str(values[name]))
        found.append(word)
    return found


@dataclass(frozen=True)
class Launch:
    """How the ranks of a server are started."""

    command: tuple[str, ...]
    """Template of one rank; `prefix` stands in front of it (srun, docker run --name {name} ...)."""
    prefix: tuple[str, ...] = ()
    stop_command: tuple[str, ...] = ()
    """Ends a container by name; run for every rank before its process group is ended."""
    nodes: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self, rank: int, values: Mapping[str, object]) -> list[str]:
        return fill([*self.prefix, *self.command], {**values, "rank": rank, "nnodes": self.nodes})


class Ranks:
    """All ranks of one boot. Whatever happens to this process, no rank outlives it (`reaper`)."""

    def __init__(self, launch: Launch, values: Mapping[str, object], logs: Path) -> None:
        """Starts every rank; raises ConfigError where the command cannot be started at all."""
        logs.mkdir(parents=True, exist_ok=True)
        self.launch, self.values, self.folder = launch, dict(values), logs
        # filled before anything runs: a placeholder without a value must not show itself at the end
        every = range(launch.nodes) if launch.stop_command else ()
        self.stop_commands = [fill(launch.stop_command, {**self.values, "rank": rank, "nnodes": launch.nodes}) for rank in every]
        self.paths = [logs / f"rank{rank}.log" for rank in range(launch.nodes)]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.guard: subprocess.Popen[bytes] | None = None
        self.first_exit: int | None = None
        self.killed = False
        self.started = time.perf_counter()
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **launch.environment}
        try:
            for rank, path in enumerate(self.paths):
                words = launch.words(rank, self.values)
                with open(path, "wb") as log:
                    log.write(f"$ {' '.join(words)}\n".encode())
                    log.flush()
                    self.processes.append(
                        subprocess.Popen(
                            words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True
                        )
                    )
            self.guard = self.watch()
            ownership(logs).write_text(json.dumps({group: reaper.started(group) for group in self.groups}), "utf8")
        except OSError as error:
            self.stop()
            raise ConfigError(f"measure.server.command: {error.filename or words[0]}: {error.strerror or error}") from None
        except BaseException:
            # nobody holds this object yet, so nobody else would end them
            self.stop()
            raise

    @property
    def groups(self) -> list[int]:
        return [process.pid for process in self.processes]

    def watch(self) -> subprocess.Popen[bytes]:
        """A process that outlives this one and ends the ranks then."""
        words = [sys.executable, "-S", "-E", reaper.__file__, *map(str, self.groups), "--", *map(json.dumps, self.stop_commands)]
        return subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)

    def exits(self) -> dict[int, int | None]:
        """Return code by rank, the rank that was first seen gone first."""
        codes = {rank: process.poll() for rank, process in enumerate(self.processes)}
        if self.first_exit is None:
            self.first_exit = next((rank for rank, code in codes.items() if code is not None), None)
        if self.first_exit is None:
            return codes
        return {self.first_exit: codes[self.first_exit], **codes}

    @property
    def alive(self) -> bool:
        """Every rank runs: a server that has lost one of its ranks is gone."""
        return bool(self.processes) and all(code is None for code in self.exits().values())

    def log(self, rank: int | None = None) -> list[str]:
        """Lines of one rank, or of all with the first that ended in front."""
        ranks = list(self.exits()) if rank is None else [rank]
        return [line for one in ranks for line in self.paths[one].read_text("utf8", errors="replace").splitlines()]

    def log_bytes(self) -> int:
        """How much has been logged so far, over all ranks."""
        return sum(path.stat().st_size for path in self.paths if path.exists())

    def kill(self) -> None:
        """End all ranks; containers by name first, then every process group."""
        if self.killed:
            return
        self.killed = True
        for words in self.stop_commands if self.processes else ():
            try:
                subprocess.run(words, check=False, timeout=reaper.COMMAND_LIMIT_S, stdin=subprocess.DEVNULL, capture_output=True)
            except (OSError, subprocess.TimeoutExpired) as error:
                self.complain(f"{' '.join(words)}: {error}")
        for process in self.processes:
            reaper.end_group(process.pid)
            try:
                process.wait(KILL_LIMIT_S)
            except subprocess.TimeoutExpired:
                self.complain(f"process {process.pid} was killed and is still there after {KILL_LIMIT_S:.0f} s")

    def complain(self, what: str) -> None:
        """What went wrong at the end, beside the logs."""
        with open(self.folder / "stop.log", "a", encoding="utf8") as log:
            log.write(f"{what}\n")

    def stop(self) -> None:
        """End everything and let the guard go."""
        self.kill()
        if self.guard is not None:
            self.guard.communicate(b"done")
            self.guard = None
        if not any(reaper.alive(group) for group in self.groups):
            ownership(self.folder).unlink(missing_ok=True)


def ownership(folder: Path) -> Path:
    """Where the process groups of a boot stand as long as it lives."""
    return folder / "groups.json"


def left_over(logs: Path) -> list[int]:
    """Process groups of earlier boots under a log folder that are still there.

    A machine that went down leaves the file behind, and numbers are given again: a process that began at another time is another one's.
    """
    found = []
    for path in sorted(logs.glob("**/groups.json")):
        try:
            owned = json.loads(path.read_text("utf8"))
        except (OSError, ValueError):
            # cut off while it was written: its boot died with it, and the guard was there before the file
            continue
        found += [int(group) for group, began in owned.items() if reaper.alive(int(group)) and reaper.started(int(group)) in (began, None)]
    return found
