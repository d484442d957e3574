"""Clients over HTTP: a closed loop that keeps requests in flight, an open loop that sends on a timetable.

Every stamp is taken when bytes come out of the socket, before anything is parsed. Bodies are written before the clock starts.
The client watches its own event loop: how late it ran and how much processor it used is part of the answer.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import httpx2

from engine.backends.base import LOST, EngineFailure
from engine.bench.http_dialects import Dialect, LlamaCompletion, OpenAIChat, OpenAICompletions, Record, SglangGenerate, blank
from engine.bench.metrics import percentile
from engine.bench.sse import Stream, said

__all__ = ["OPENAI", "Dialect", "Endpoint", "LlamaCompletion", "OpenAIChat", "OpenAICompletions", "SglangGenerate", "one", "run_load"]

OPENAI = OpenAICompletions()
HEARTBEAT_S = 0.005
"""How often the client looks whether its own event loop runs on time."""
CONNECT_LIMIT_S = 30.0


@dataclass(frozen=True)
class Endpoint:
    """Where a server listens, without a trailing slash, and the name under which it serves."""

    url: str
    model: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


def run_load(
    endpoint: Endpoint, dialect: Dialect, requests: Sequence[dict], max_concurrency: int, timeout_s: float, due_s: Sequence[float] | None = None
) -> dict[str, Any]:
    """One load; the answer of a backend's `run`, times in seconds after its start, plus `client`: loop_lag_ms, cpu_share.

    With `due_s` requests are sent on that timetable, never more than `max_concurrency` at once; one that the cap holds back waits
    in the client. Raises EngineFailure: timeout when the load takes longer than `timeout_s`, crash when every connection failed.
    """
    if max_concurrency < 1:
        raise ValueError(f"max_concurrency must be 1 or more, not {max_concurrency}")
    if due_s is not None and len(due_s) != len(requests):
        raise ValueError(f"{len(requests)} requests need as many due times, not {len(due_s)}")
    load = Load(endpoint, dialect, requests, due_s)
    gc.collect()
    gc.disable()
    try:
        asyncio.run(load.within(timeout_s, max_concurrency))
    finally:
        gc.enable()
    answer = load.answer()
    lost = [record for record in answer["requests"] if (record["finish_reason"] or "").startswith(LOST)]
    if lost and len(lost) == len(requests):
        raise EngineFailure("crash", f"{endpoint.url}: every connection failed: {lost[0]['finish_reason'].removeprefix(LOST)}")
    return answer


def one(endpoint: Endpoint, dialect: Dialect, request: dict, timeout_s: float) -> Record:
    """One request by itself. A failure is told in its finish reason, whatever it was."""
    try:
        return run_load(endpoint, dialect, [request], 1, timeout_s)["requests"][0]
    except EngineFailure as failure:
        return {**blank(request), "finish_reason": f"error: {failure.note}"}


class Load:
    """The requests of one load, their records and the clock that all of them share."""

    def __init__(self, endpoint: Endpoint, dialect: Dialect, requests: Sequence[dict], due_s: Sequence[float] | None) -> None:
        self.endpoint, self.dialect = endpoint, dialect
        self.records = [blank(request) for request in requests]
        self.bodies = [json.dumps(dialect.body(request, endpoint.model)).encode("utf8") for request in requests]
        self.due_s = due_s
        self.start = self.end = self.cpu_s = 0.0
        self.lags: list[float] = []

    def now(self) -> float:
        return perf_counter() - self.start

    async def within(self, timeout_s: float, max_concurrency: int) -> None:
        # a connection a request: a server that closes after an answer (llama.cpp does) races with the next request on a kept one
        common = {"content-type": "application/json", "accept": "text/event-stream", "accept-encoding": "identity", "connection": "close"}
        headers = {**common, **dict(self.endpoint.headers)}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        timeout = httpx2.Timeout(None, connect=CONNECT_LIMIT_S)
        async with httpx2.AsyncClient(base_url=self.endpoint.url, headers=headers, limits=limits, timeout=timeout, trust_env=False) as client:
            self.start, cpu = perf_counter(), time.process_time()
            watch = asyncio.create_task(self.heartbeat())
            try:
                async with asyncio.timeout(timeout_s):
                    await (self.closed(client, max_concurrency) if self.due_s is None else self.open(client, max_concurrency))
            except TimeoutError:
                left = sum(record["finish_reason"] is None for record in self.records)
                raise EngineFailure("timeout", f"{left} of {len(self.records)} requests had not ended after {timeout_s:.0f} s") from None
            finally:
                watch.cancel()
                self.end, self.cpu_s = perf_counter(), time.process_time() - cpu

    async def closed(self, client: httpx2.AsyncClient, max_concurrency: int) -> None:
        waiting = deque(range(len(self.records)))

        async def keep_busy() -> None:
            while waiting:
                await self.send(client, waiting.popleft())

        async with asyncio.TaskGroup() as group:
            for _ in range(min(max_concurrency, len(waiting))):
                group.create_task(keep_busy())

    async def open(self, client: httpx2.AsyncClient, max_concurrency: int) -> None:
        places = asyncio.Semaphore(max_concurrency)

        async def then_free(number: int) -> None:
            try:
                await self.send(client, number)
            finally:
                places.release()

        async with asyncio.TaskGroup() as group:
            for number in sorted(range(len(self.records)), key=lambda n: self.due_s[n]):
                await asyncio.sleep(max(0.0, self.due_s[number] - self.now()))
                await places.acquire()
                group.create_task(then_free(number))

    async def heartbeat(self) -> None:
        """How much later than asked the event loop comes round: stamps are late by as much."""
        while True:
            begin = perf_counter()
            await asyncio.sleep(HEARTBEAT_S)
            self.lags.append(perf_counter() - begin - HEARTBEAT_S)

    async def send(self, client: httpx2.AsyncClient, number: int) -> None:
        record = self.records[number]
        record["queued_s"] = self.now()
        try:
            async with client.stream("POST", self.dialect.path, content=self.bodies[number]) as response:
                if response.status_code == 200:
                    await self.receive(response, record)
                else:
                    fail(record, f"error: HTTP {response.status_code}: {refusal(await response.aread())}")
        except httpx2.TransportError as fault:
            fail(record, f"{LOST}{type(fault).__name__}: {fault}".rstrip(": "))
        if record["end_s"] is None:
            record["end_s"] = self.now()

    async def receive(self, response: httpx2.Response, record: Record) -> None:
        """Read a stream to its end and decide whether the request was served."""
        stream, done = Stream(), False
        async for part in response.aiter_raw():
            now = self.now()
            for event in stream.feed(part):
                done = self.take(event, record, now) or done
        for event in stream.close():
            done = self.take(event, record, self.now()) or done
        complete(record, done or not self.dialect.ends_with_done)

    def take(self, event: Any, record: Record, now: float) -> bool:
        """One event into the record; True for the end marker. What comes behind a fault cannot make it good."""
        if (record["finish_reason"] or "").startswith("error"):
            return event.data is None
        if event.fault is not None:
            fail(record, f"error: {event.fault}")
        elif event.data is None:
            return True
        else:
            seen = len(record["emissions_s"]), record["text"], record["finish_reason"]
            try:
                self.dialect.read(event.data, record, now)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):
                # fields of other kinds than the protocol has: this request failed, the load goes on
                fail(record, f"error: an event that this protocol does not have: {said(event.data)}")
            if seen != (len(record["emissions_s"]), record["text"], record["finish_reason"]):
                # the last token or the word that it was the last, not the usage behind it
                record["end_s"] = now
        return False

    def answer(self) -> dict[str, Any]:
        duration = self.end - self.start
        arrivals = {} if self.due_s is None else {record["request_id"]: due for record, due in zip(self.records, self.due_s, strict=True)}
        lag = 1000.0 * percentile(self.lags, 0.99) if self.lags else None
        client = {"loop_lag_ms": lag, "cpu_share": self.cpu_s / duration if duration else None}
        return {"duration_s": duration, "requests": self.records, "steps": [], "arrivals_s": arrivals, "client": client}


def fail(record: Record, why: str) -> None:
    """The first fault of a request is the one that is told."""
    if not (record["finish_reason"] or "").startswith("error"):
        record["finish_reason"] = why


def complete(record: Record, done: bool) -> None:
    """HTTP 200 and a closed connection are no success by themselves."""
    ids = record["token_ids"]
    if record["output_tokens"] is None and ids is not None:
        record["output_tokens"] = len(ids)
    if ids is not None and len(ids) != record["output_tokens"]:
        # ids of some chunks only: they cannot stand for the output
        record["token_ids"] = None
    tokens = record["output_tokens"]
    if record["finish_reason"] is None:
        fail(record, f"error: the stream ended without a finish reason after {len(record['emissions_s'])} chunks")
    elif not done:
        fail(record, "error: the stream ended without its end marker")
    elif record["finish_reason"] not in ("stop", "length"):
        return
    elif tokens is None:
        fail(record, "error: the server says nowhere how many tokens it generated (usage), and chunks are not tokens")
    elif tokens == 0:
        fail(record, "error: no token was generated")
    elif record["first_token_s"] is None:
        # tokens without text: bytes of a character that never became whole
        record["first_token_s"] = record["end_s"]
        record["emissions_s"], record["emission_tokens"] = [record["end_s"]], [tokens]


def refusal(body: bytes) -> str:
    """Why a server refused, in one line."""
    text = body.decode("utf8", errors="replace")
    try:
        found = json.loads(text)
    except ValueError:
        return said(text) or "no reason given"
    return said(found.get("error") or found.get("message") or found.get("detail") or found) if isinstance(found, dict) else said(found)
