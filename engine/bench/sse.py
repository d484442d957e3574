"""Server-sent events out of the bytes of a socket, cut wherever the network cut them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

DONE = "[DONE]"


@dataclass(frozen=True)
class Event:
    """`data` is a JSON object; None: the end marker of OpenAI's protocol. `fault`: the event says that the request failed."""

    data: dict | None
    fault: str | None = None


class Stream:
    """Feed it bytes, take events. Comments, blank lines, ids and retry hints are no events."""

    def __init__(self) -> None:
        self.rest = b""
        self.kind = ""
        self.lines: list[bytes] = []

    def feed(self, part: bytes) -> Iterator[Event]:
        """Events that `part` completes, in order."""
        # a CR LF may be cut in two: a line ends at LF and loses its CR afterwards
        *lines, self.rest = (self.rest + part).split(b"\n")
        for line in lines:
            yield from self.line(line.removesuffix(b"\r"))

    def close(self) -> Iterator[Event]:
        """What a server that ends without a blank line still meant to say."""
        yield from self.line(self.rest)
        self.rest = b""
        yield from self.line(b"")

    def line(self, line: bytes) -> Iterator[Event]:
        if not line:
            if self.lines:
                yield self.event(b"\n".join(self.lines).decode("utf8", errors="replace"))
            self.kind, self.lines = "", []
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self.lines.append(value)
        elif name == b"event":
            self.kind = value.decode("utf8", errors="replace")
        elif name == b"error":
            # llama.cpp's older servers write the fault as a field of its own
            self.kind = "error"
            self.lines.append(value)

    def event(self, text: str) -> Event:
        if text.strip() == DONE:
            return Event(None)
        try:
            data = json.loads(text)
        except ValueError:
            return Event({}, f"an event that is not JSON: {text[:80]!r}")
        if not isinstance(data, dict):
            return Event({}, f"an event that is no JSON object: {text[:80]!r}")
        fault = data.get("error")
        if fault or self.kind == "error":
            return Event(data, said(fault or data))
        return Event(data)


def said(fault: object) -> str:
    """The words of an error object, in one line."""
    message = fault.get("message") if isinstance(fault, dict) else fault
    return " ".join(str(message if message else fault).split())[:300]
