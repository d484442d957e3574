"""A scripted HTTP server on this machine: every byte, pause and broken connection of an answer is written down by the test."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Self


@dataclass(frozen=True)
class Say:
    """Bytes of a body after a pause; `cut` breaks the connection behind them."""

    data: bytes = b""
    after_s: float = 0.0
    cut: bool = False


@dataclass(frozen=True)
class Reply:
    """An answer: a list of Say is sent chunk by chunk, as a stream is."""

    said: Sequence[Say]
    status: int = 200
    kind: str = "text/event-stream"
    last: bool = False
    """Close the connection behind the answer, without having said so in its headers."""


Script = Callable[[dict, "Loopback"], Reply]


def data(event: object) -> bytes:
    return b"data: " + (event if isinstance(event, str) else json.dumps(event)).encode("utf8") + b"\n\n"


def document(body: object, status: int = 200) -> Reply:
    return Reply([Say(json.dumps(body).encode("utf8"))], status, "application/json")


def plain(text: str, status: int = 200) -> Reply:
    return Reply([Say(text.encode("utf8"))], status, "text/plain")


class Loopback:
    """`scripts`: path -> what is answered. A context manager; `bodies` keeps what was asked, `most` the requests in flight at once."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        self.scripts = scripts
        self.bodies: list[dict] = []
        self.asked_s: list[float] = []
        self.running = self.most = 0
        self.url = ""
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        self.server = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.serve, "127.0.0.1", 0), self.loop).result(5)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.close(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        self.loop.close()

    async def close(self) -> None:
        self.server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Requests of one connection, one after another."""
        try:
            while await self.answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """False when the connection is over."""
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin1").split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length")), 0)
        raw = await reader.readexactly(length)
        body = json.loads(raw) if raw else {}
        self.bodies.append(body)
        self.asked_s.append(perf_counter())
        path = lines[0].split(" ")[1].split("?")[0]
        reply = self.scripts[path](body, self) if path in self.scripts else plain("no such path", 404)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self.send(reply, writer)
        finally:
            self.running -= 1

    async def send(self, reply: Reply, writer: asyncio.StreamWriter) -> bool:
        writer.write(f"HTTP/1.1 {reply.status} X\r\ncontent-type: {reply.kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for one in reply.said:
            if one.after_s:
                await writer.drain()
                await asyncio.sleep(one.after_s)
            if one.data:
                writer.write(f"{len(one.data):x}\r\n".encode() + one.data + b"\r\n")
                await writer.drain()
            if one.cut:
                writer.transport.abort()
                return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return not reply.last
