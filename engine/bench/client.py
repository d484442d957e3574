"""The closed-loop client: keeps a fixed number of requests in flight until every one of them has ended.

It runs inside the engine process, so that client and engine read one clock and nothing lies between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from engine.types import Request, RequestRecord, StepRecord

# Steps in a row that run nothing and end nothing: the engine and its client have lost each other.
IDLE_LIMIT = 1000


class Steppable(Protocol):
    """What the client needs of an engine."""

    def add_request(self, request: Request) -> None: ...
    def step(self) -> StepRecord | None: ...
    def pop_finished(self) -> list[RequestRecord]: ...


@dataclass(frozen=True)
class LoopResult:
    """Records of one cell; times are perf_counter seconds of this process."""

    start_s: float
    end_s: float
    requests: list[RequestRecord]
    steps: list[StepRecord]


def closed_loop(engine: Steppable, requests: Sequence[Request], max_concurrency: int) -> LoopResult:
    """Send the next request as soon as one ends. Refused requests come back as records like any other."""
    if max_concurrency < 1:
        raise ValueError(f"max_concurrency must be 1 or more, not {max_concurrency}")
    waiting = deque(requests)
    in_flight = 0
    idle = 0
    finished: list[RequestRecord] = []
    steps: list[StepRecord] = []
    start = perf_counter()
    while waiting or in_flight:
        while waiting and in_flight < max_concurrency:
            engine.add_request(waiting.popleft())
            in_flight += 1
        step = engine.step()
        if step is not None:
            steps.append(step)
        ended = engine.pop_finished()
        in_flight -= len(ended)
        finished += ended
        idle = 0 if step is not None or ended else idle + 1
        if idle > IDLE_LIMIT:
            raise RuntimeError(f"{in_flight} requests in flight and the engine has run nothing for {IDLE_LIMIT} steps")
    return LoopResult(start, perf_counter(), finished, steps)
