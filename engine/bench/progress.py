"""Progress on the terminal: stage, cell, elapsed, estimate, last result; the same lines into a log file.

Nothing is drawn while a cell runs: the terminal is only touched between cells.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table

from engine.bench.estimate import minutes

# A line this often where the output is no terminal.
LINE_EVERY_S = 10.0


class Progress:
    """Use as a context manager. `say` prints a line for good; `cell` and `result` update the status."""

    def __init__(self, title: str, estimate_s: float, log: Path | None = None, quiet: bool = False, stream: TextIO | None = None) -> None:
        self.title = title
        self.estimate_s = estimate_s
        self.quiet = quiet
        self.console = Console(file=stream, stderr=stream is None, highlight=False)
        self.live = Live(console=self.console, auto_refresh=False, transient=True) if self.console.is_terminal and not quiet else None
        self.log = log
        self.file: TextIO | None = None
        self.start = time.perf_counter()
        self.last_line = 0.0
        self.done_s = 0.0
        self.stage = ""
        self.current = ""
        self.last = ""

    def __enter__(self) -> Self:
        if self.log is not None:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.log, "w", encoding="utf8", buffering=1)
        return self

    def begin(self) -> None:
        """The input is good and measuring starts now."""
        self.start = time.perf_counter()
        self.say(f"{self.title}: about {minutes(self.estimate_s)}")
        if self.live:
            self.live.start()

    def __exit__(self, *_: object) -> None:
        if self.live:
            self.live.stop()
        if self.file:
            self.file.close()

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self.start

    @property
    def left_s(self) -> float:
        """The planned rest, scaled by how the done part compared with its plan."""
        pace = self.elapsed_s / self.done_s if self.done_s > 5.0 else 1.0
        return max(0.0, self.estimate_s - self.done_s) * pace

    def say(self, line: str) -> None:
        if self.file:
            self.file.write(f"{time.strftime('%H:%M:%S')} {line}\n")
        if not self.quiet:
            self.console.print(line, markup=False, soft_wrap=True)

    def cell(self, stage: str, what: str) -> None:
        self.stage, self.current = stage, what
        self.draw()

    def result(self, what: str, planned_s: float) -> None:
        """A finished cell or boot; `planned_s` moves the estimate."""
        self.last = what
        self.done_s += planned_s
        if self.file:
            self.file.write(f"{time.strftime('%H:%M:%S')} {self.stage}: {what}\n")
        if self.live is None and not self.quiet and time.perf_counter() - self.last_line > LINE_EVERY_S:
            self.last_line = time.perf_counter()
            self.console.print(
                f"{self.stage}: {what} ({minutes(self.elapsed_s)} elapsed, about {minutes(self.left_s)} left)", markup=False, soft_wrap=True
            )
        self.draw()

    def draw(self) -> None:
        if self.live is None:
            return
        table = Table.grid(padding=(0, 2))
        table.add_row("stage", self.stage)
        table.add_row("now", self.current)
        table.add_row("last", self.last)
        table.add_row("elapsed", f"{minutes(self.elapsed_s)}, about {minutes(self.left_s)} left")
        self.live.update(table, refresh=True)
