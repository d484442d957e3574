"""What of a round's tokens reaches the client: cut where plain decoding would have stopped, with logprobs if asked for."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from engine.types import RequestRecord


class StopStrings:
    """Watches the bytes of one request's text. Byte by byte, so that a string may begin and end inside tokens."""

    def __init__(self, token_bytes: list[bytes], stop: tuple[str, ...]) -> None:
        self.token_bytes = token_bytes
        self.stop = {text.encode("utf8"): text for text in stop}
        self.kept = max(map(len, self.stop)) - 1
        self.tail = b""

    def feed(self, token: int) -> str | None:
        """The stop string that this token completes, the one that begins first; None when the text goes on."""
        text = self.tail + self.token_bytes[token]
        found = [(at, -len(sought), name) for sought, name in self.stop.items() if (at := text.find(sought)) >= 0]
        if found:
            return min(found)[2]
        self.tail = text[len(text) - self.kept :] if len(text) > self.kept else text
        return None


def end_of(record: RequestRecord, token: int, eos: int | None, stop_ids: tuple[int, ...], stops: StopStrings | None, limit: int) -> str | None:
    """Finish reason after `token`, already in the record, or None. `eos` is None where the client ignores it."""
    if token == eos or token in stop_ids:
        return "stop"
    if stops is not None:
        record.matched_stop = stops.feed(token)
        if record.matched_stop is not None:
            return "stop"
    return "length" if record.osl >= limit else None


def log_law(logits: Tensor) -> np.ndarray:
    """Logits of one position [V] -> log-probabilities [V] float64; alone, so that no neighbour changes its rounding."""
    row = logits.float().numpy().astype(np.float64)
    row -= row.max()
    return row - np.log(np.exp(row).sum())


def record_logprobs(record: RequestRecord, logits: Tensor, tokens: list[int], best: int) -> None:
    """Append to the record: logits [n, V] of the positions that `tokens` [n] were decided at."""
    for row, token in zip(logits, tokens):
        law = log_law(row)
        record.logprobs.append(float(law[token]))
        order = np.argsort(-law, kind="stable")[:best]
        record.top_logprobs.append([(int(id), float(law[id])) for id in order])


def visible_text(text: str, record: RequestRecord) -> str:
    """Decoded text up to the stop string that ended it."""
    return text if record.matched_stop is None else text[: text.index(record.matched_stop)]
