"""The engine in a thread of its own. Other threads hand it requests and orders; it hands tokens back as they are committed."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.config import SamplingParams
from engine.serve.totals import Totals
from engine.types import Request, RequestRecord

if TYPE_CHECKING:
    from engine.engine import Engine

IDLE_S = 0.2
"""How long an idle loop waits for an order before it looks whether it should end."""
WARMUP = "warm-up"


@dataclass(frozen=True)
class Event:
    """New tokens of one request with their logprobs, if asked for; `record` once it has ended, `lost` when the engine ended under it."""

    index: int
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    best: tuple[tuple[tuple[int, float], ...], ...] = ()
    record: RequestRecord | None = None
    lost: bool = False


class Listener:
    """Where the events of one client call arrive: a queue of the event loop that made it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.events: asyncio.Queue[Event] = asyncio.Queue()

    def put(self, event: Event) -> None:
        """From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.events.put_nowait, event)


@dataclass
class Served:
    """One request of a client: how many of its tokens were handed over."""

    index: int
    listener: Listener
    sent: int = 0


class Stopped(RuntimeError):
    """The engine's thread has ended, in order or not."""


class EngineLoop:
    """Owns the engine: every call into it is made by this thread. `start()`, then `submit`, `abort`, `ask`; `stop()` at the end."""

    def __init__(self, engine: Engine, max_queued: int) -> None:
        self.engine = engine
        self.limit = engine.effective_max_running_requests + max_queued
        self.totals = Totals()
        self.ready = threading.Event()
        """Set once a token has been generated."""
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._served: dict[str, Served] = {}
        self._asked: set[Future] = set()
        self._lock = threading.Lock()
        self._stopping = self._ended = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and not self._ended

    def start(self) -> None:
        bos = self.engine.model.bos_token_id
        self._orders.put(lambda: self.engine.add_request(Request(WARMUP, (bos, bos), SamplingParams(max_tokens=1))))
        self._thread.start()

    def stop(self) -> None:
        """End after the step in progress; clients still waiting are told."""
        self._stopping = True
        self._orders.put(lambda: None)
        self._thread.join()

    def submit(self, requests: list[Request], listener: Listener) -> bool:
        """Hand over the requests of one call; False when there is no room for all of them. Events carry their place in the list."""
        with self._lock:
            if self._ended or len(self._served) + len(requests) > self.limit:
                return False
            self._served |= {request.request_id: Served(index, listener) for index, request in enumerate(requests)}
        self._orders.put(lambda: [self.engine.add_request(request) for request in requests])
        return True

    def abort(self, request_ids: list[str]) -> None:
        """End requests whose client is gone, freeing their slots and pages; ended ones are passed over."""
        self._orders.put(lambda: [self.engine.abort(request_id) for request_id in request_ids])

    def ask(self, question: Callable[[Engine], Any]) -> Future:
        """Have the engine's thread compute something between two steps."""
        answer: Future = Future()

        def run() -> None:
            try:
                answer.set_result(question(self.engine))
            except RuntimeError as fault:
                answer.set_exception(fault)
            self._asked.discard(answer)

        with self._lock:
            if self._ended:
                answer.set_exception(Stopped())
                return answer
            self._asked.add(answer)
        self._orders.put(run)
        return answer

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._obey(wait=not self.engine.has_work)
                self._publish()
                if self.engine.has_work:
                    self.totals.step(self.engine.step())
                    self._publish()
                if not self.engine.has_work:
                    self.totals.idle()
        finally:
            # However it ends, nobody is left waiting.
            with self._lock:
                self._ended = True
                for served in self._served.values():
                    served.listener.put(Event(served.index, lost=True))
                for answer in self._asked:
                    answer.set_exception(Stopped())
                self._served.clear()

    def _obey(self, wait: bool) -> None:
        """Carry out the orders that are there; with `wait`, give the first a moment to arrive."""
        try:
            order = self._orders.get(timeout=IDLE_S) if wait else self._orders.get_nowait()
            while True:
                order()
                order = self._orders.get_nowait()
        except queue.Empty:
            return

    def _publish(self) -> None:
        finished = self.engine.pop_finished()
        for request_id, served in list(self._served.items()):
            if record := self.engine.record(request_id):
                self._hand_over(served, record)
        for record in finished:
            if record.request_id == WARMUP:
                self.ready.set()
                continue
            self.totals.finish(record)
            if served := self._served.pop(record.request_id, None):
                self._hand_over(served, record)
                served.listener.put(Event(served.index, record=replace(record)))

    @staticmethod
    def _hand_over(served: Served, record: RequestRecord) -> None:
        start = served.sent
        if new := tuple(record.token_ids[start:]):
            served.sent += len(new)
            best = tuple(map(tuple, record.top_logprobs[start:]))
            served.listener.put(Event(served.index, new, tuple(record.logprobs[start:]), best))


