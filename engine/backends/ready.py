"""Waiting for a server: ready is a generated token, not an open port. A rank that dies, silence and time each end the wait."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from engine.backends.base import EngineFailure
from engine.backends.failure import last, shown
from engine.backends.launch import Ranks

PAUSE_S = 0.1
LISTENS = re.compile(r"(?:running|listening|serving|server) (?:on|at) (?:address )?\[?(?:https?://|tcp://)?\S*?:(\d{2,5})\b", re.IGNORECASE)
"""What a server logs when it has opened its port, whichever that is."""


@dataclass(frozen=True)
class Limits:
    """How long a boot may take, and how long it may say nothing, in seconds."""

    boot_s: float
    silence_s: float


def port_open(url: str) -> bool:
    where = urlsplit(url)
    try:
        with socket.create_connection((where.hostname, where.port or 80), timeout=1.0):
            return True
    except OSError:
        return False


def wait(ranks: Ranks, url: str, generate: Callable[[], bool], limits: Limits) -> None:
    """Return once `generate` has brought a token. Raises EngineFailure; `dead` (kind) where a rank ended, which the caller then classifies.

    The first token may itself take minutes (kernels are compiled for it), so it is awaited in a thread while ranks and log are watched.
    """
    begin = heard = time.monotonic()
    size = -1
    asking: Asking | None = None
    while True:
        if not ranks.alive:
            raise EngineFailure("crash", "a rank ended before the first token", "dead")
        now = time.monotonic()
        if ranks.log_bytes() != size:
            size, heard = ranks.log_bytes(), now
        if asking is None and port_open(url):
            asking = Asking(generate)
        if asking is not None and asking.answer is not None:
            if asking.answer and ranks.alive:
                return
            asking = None
        if now - begin > limits.boot_s:
            raise unready(ranks, url, f"no token within {limits.boot_s:.0f} s")
        if now - heard > limits.silence_s:
            raise unready(ranks, url, f"no log line for {limits.silence_s:.0f} s and no token")
        time.sleep(PAUSE_S)


class Asking:
    """One attempt at a token. `answer` is None while it is under way."""

    def __init__(self, generate: Callable[[], bool]) -> None:
        self.answer: bool | None = None
        self.generate = generate
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        try:
            self.answer = self.generate()
        except EngineFailure:
            # not ready yet; a rank that died is seen by who waits
            self.answer = False
            time.sleep(PAUSE_S)


def unready(ranks: Ranks, url: str, why: str) -> EngineFailure:
    """A server that listens elsewhere than it was told is another fault than one that hangs."""
    lines = ranks.log()
    wanted = urlsplit(url).port
    for line in lines:
        found = LISTENS.search(line)
        if found and wanted and int(found[1]) != wanted and not port_open(url):
            return EngineFailure("crash", f"port: told to listen on {wanted}: {shown(line)}", "port")
    return EngineFailure("timeout", f"hang: {why}; last line: {shown(last(lines))}", "hang")
