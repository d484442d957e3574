"""Tokens to text as they come: whole characters only, and nothing that a stop string may still take back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

REPLACEMENT = "\ufffd"


class TextStream:
    """Text of one answer. Tokens are read one by one, so that a stop string inside an accepted run cuts where plain decoding would."""

    def __init__(self, decode: Callable[[Sequence[int]], str], stop: Sequence[str] = ()) -> None:
        self._decode, self._stop = decode, tuple(stop)
        self._ids: list[int] = []
        self._given = 0
        self.matched: str | None = None
        """The stop string that ended the text; it is not part of it."""

    @property
    def tokens(self) -> int:
        """Tokens read, the one that completed a stop string included."""
        return len(self._ids)

    def push(self, ids: Sequence[int]) -> str:
        """Text that is certain after these tokens and was not given before."""
        new = ""
        for token in ids:
            if self.matched is None:
                self._ids.append(token)
                new += self._advance(last=False)
        return new

    def end(self) -> str:
        """The rest, once no more tokens come: what was held back, broken characters included."""
        return "" if self.matched is not None else self._advance(last=True)

    def _advance(self, last: bool) -> str:
        text = self._decode(self._ids)
        found = min(((at, stop) for stop in self._stop if (at := text.find(stop)) >= 0), default=None)
        if found:
            end, self.matched = found
        elif last:
            end = len(text)
        else:
            end = len(text.rstrip(REPLACEMENT))
            end -= max((n for stop in self._stop for n in range(1, len(stop)) if text[:end].endswith(stop[:n])), default=0)
        new = text[self._given : end]
        self._given = max(self._given, end)
        return new
