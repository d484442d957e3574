"""Ctrl-C in a command that can stop early: once to end at the next block and publish what there is, twice to abort."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

INTERRUPTED = 130
"""Exit code of a command that was asked to stop, whether it published or not."""


class Stopping:
    """As a context manager, takes SIGINT and SIGTERM: the first sets `asked`, the second raises KeyboardInterrupt.

    Only the main thread can take signals; in another one nothing changes.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self.asked = False
        self.earlier: dict[int, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.earlier = {number: signal.signal(number, self.take) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def take(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.say(f"{signal.Signals(number).name}: stopping after this block, as if the budget were used up; once more aborts, and the journal stays")

    def __exit__(self, *_: object) -> None:
        for number, handler in self.earlier.items():
            signal.signal(number, handler)
