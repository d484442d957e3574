"""The fixed warm-up of a server: every batch bucket once and one sampled request, before anything is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.backends.base import EngineFailure
from engine.bench.http_client import run_load

if TYPE_CHECKING:
    from engine.backends.server import ServerBackend

WORDS = tuple(range(10, 26))
"""Ids that every vocabulary has; no measured prompt starts with them."""
TOKENS = 4
LIMIT_S = 600.0


def request(name: str, max_tokens: int, sampled: bool = False) -> dict:
    """A short request, greedy or with top_p below one, which takes other kernels."""
    how = {"temperature": 0.8, "top_p": 0.9} if sampled else {"temperature": 0.0, "top_p": 1.0}
    return {"request_id": name, "prompt_ids": WORDS, "sampling": {**how, "top_k": 0, "ignore_eos": True, "max_tokens": max_tokens, "seed": 1}}


def buckets(largest: int) -> list[int]:
    """Powers of two up to `largest`, and `largest` itself."""
    found = [1 << power for power in range(largest.bit_length()) if 1 << power <= largest]
    return found if found[-1] == largest else [*found, largest]


def up(server: ServerBackend) -> None:
    """Raises EngineFailure where a warm-up request does not end: the server is not what it says it is."""
    cap = server.info.get("effective_max_running_requests")
    largest = max(1, min(server.config.warmup_batches, cap or server.config.warmup_batches))
    loads = [[request(f"warm-{size}-{number}", TOKENS) for number in range(size)] for size in buckets(largest)]
    loads.append([request("warm-sampled", TOKENS, sampled=True)])
    for load in loads:
        answer = run_load(server.endpoint, server.dialect(), load, len(load), LIMIT_S)
        failed = [record for record in answer["requests"] if record["finish_reason"] not in ("stop", "length")]
        if failed:
            raise EngineFailure("crash", f"warm-up: {len(failed)} of {len(load)} requests failed: {failed[0]['finish_reason']}")
