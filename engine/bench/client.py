"""Clients inside the engine process: a closed loop that keeps requests in flight, an open loop that sends on a timetable.

Client and engine read one clock and nothing lies between them. An engine step cannot be interrupted, so a request of the
open loop may be sent late: by how much is recorded (client lag), and latencies count from the timetable as well.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    arrivals: dict[str, float] = field(default_factory=dict)
    """Open loop: when each request was due."""


def closed_loop(engine: Steppable, requests: Sequence[Request], max_concurrency: int) -> LoopResult:
    """Send the next request as soon as one ends. Refused requests come back as records like any other."""
    return _loop(engine, [(0.0, request) for request in requests], max_concurrency, timetable=False)


def open_loop(engine: Steppable, requests: Sequence[Request], due_s: Sequence[float], max_concurrency: int) -> LoopResult:
    """Send each request when it is due, `due_s` seconds after the start, but never more than `max_concurrency` at once.

    A request that is held back by the cap waits in the client, and that wait is part of its latency from the timetable.
    """
    if len(due_s) != len(requests):
        raise ValueError(f"{len(requests)} requests need as many due times, not {len(due_s)}")
    return _loop(engine, sorted(zip(due_s, requests, strict=True), key=lambda pair: pair[0]), max_concurrency, timetable=True)


def _loop(engine: Steppable, plan: Sequence[tuple[float, Request]], max_concurrency: int, timetable: bool) -> LoopResult:
    if max_concurrency < 1:
        raise ValueError(f"max_concurrency must be 1 or more, not {max_concurrency}")
    waiting = deque(plan)
    in_flight = 0
    idle = 0
    finished: list[RequestRecord] = []
    steps: list[StepRecord] = []
    start = perf_counter()
    while waiting or in_flight:
        while waiting and in_flight < max_concurrency and (not timetable or perf_counter() - start >= waiting[0][0]):
            engine.add_request(waiting.popleft()[1])
            in_flight += 1
        if not in_flight:
            time.sleep(max(0.0, min(0.001, start + waiting[0][0] - perf_counter())))
            continue
        step = engine.step()
        if step is not None:
            steps.append(step)
        ended = engine.pop_finished()
        in_flight -= len(ended)
        finished += ended
        idle = 0 if step is not None or ended else idle + 1
        if idle > IDLE_LIMIT:
            raise RuntimeError(f"{in_flight} requests in flight and the engine has run nothing for {IDLE_LIMIT} steps")
    arrivals = {request.request_id: start + due for due, request in plan} if timetable else {}
    return LoopResult(start, perf_counter(), finished, steps, arrivals)
