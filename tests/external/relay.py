"""A relay between a client and a server that times every stream with our own dialect: two readings of the same bytes.

What the client on one side and we here say of the same requests can differ by definition only, not by noise between two runs.
"""

from __future__ import annotations

import asyncio
import json
import threading
from time import perf_counter
from typing import Self

import httpx2

from engine.bench.http_client import OpenAICompletions
from engine.bench.http_dialects import Record, blank
from engine.bench.sse import Stream


class Relay:
    """A context manager; `url` is what the client is given, `records` what was read of each completion that passed."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.records: list[Record] = []
        self.url = ""
        self.start = perf_counter()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        self.client = httpx2.AsyncClient(base_url=self.upstream, timeout=None, trust_env=False)
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0), self.loop).result(5)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        async def close() -> None:
            self.server.close()
            await self.client.aclose()

        asyncio.run_coroutine_threadsafe(close(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection: the answer says that it closes."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
            length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length")), 0)
            body = await reader.readexactly(length)
            method, path, _ = head[0].split(" ")
            await self.pass_on(method, path, body, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def pass_on(self, method: str, path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        record = None
        if path == OpenAICompletions().path:
            record = {**blank({"request_id": f"r{len(self.records)}", "prompt_ids": ()}), "queued_s": perf_counter() - self.start}
            record["body"] = json.loads(body)
            self.records.append(record)
        async with self.client.stream(method, path, content=body, headers={"content-type": "application/json"}) as answer:
            kind = answer.headers.get("content-type", "text/plain")
            writer.write(f"HTTP/1.1 {answer.status_code} X\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())
            stream = Stream()
            async for part in answer.aiter_raw():
                now = perf_counter() - self.start
                writer.write(part)
                await writer.drain()
                for event in stream.feed(part) if record is not None else ():
                    self.take(event.data, record, now)

    def take(self, event: dict | None, record: Record, now: float) -> None:
        if event is None:
            return
        seen = len(record["emissions_s"]), record["finish_reason"]
        OpenAICompletions().read(event, record, now)
        if seen != (len(record["emissions_s"]), record["finish_reason"]):
            record["end_s"] = now
