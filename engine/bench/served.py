"""Columns that only a foreign server's cells need: counts where ids are unknown, steps read from outside, acceptance from counters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.backends import step_latency
from engine.csvio import Row


def osl_of(record: dict) -> int:
    """Tokens of an answer; a server that hands out text only counts them itself."""
    return (record.get("output_tokens") or 0) if record["token_ids"] is None else len(record["token_ids"])


def drafting(record: dict) -> bool:
    """Whether the record says how its drafts fared."""
    return bool(record["accepted_histogram"]) or bool(record["rounds"] and record["accepted"] is not None)


def served_columns(answer: dict, done: Sequence[dict], per_round: float | None, tpot_ms: float | None, drafts: bool) -> Row:
    """Decoding as a client of a server sees it: all tokens but the first of each answer, over the time in which any was awaited.

    The step latency is read three ways (engine.backends.step_latency). `per_round` is what a round brought the user, so that
    drafts which the end of an answer cut off do not lengthen the derived step; a plain step commits one token, and a drafting lane
    whose rounds nobody counted has no derived step.
    """
    tokens = sum(max(0, osl_of(record) - 1) for record in done)
    wall_s = union_s([(record["first_token_s"], record["end_s"]) for record in done if osl_of(record) > 1])
    per_round = per_round if drafts else 1.0
    found = step_latency.decide(step_latency.chunk_gaps_ms(done), answer["log_step_ms"], step_latency.derived_ms(per_round, tpot_ms))
    client = answer.get("client") or {}
    row: Row = {"decode_tokens": tokens, "step_ms": found.step_ms, "step_source": found.source, "note": found.warning}
    row |= {"client_loop_lag_ms": client.get("loop_lag_ms"), "client_cpu_share": client.get("cpu_share")}
    return {**row, "decode_throughput": tokens / wall_s} if wall_s > 0 else row


def union_s(spans: Sequence[tuple[float, float]]) -> float:
    """Seconds covered by at least one span."""
    total, reached = 0.0, -math.inf
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def counted_rounds(acceptance: dict | None, done: Sequence[dict]) -> Row:
    """Acceptance from a server's counters over exactly this load, where its requests do not carry their own."""
    if not acceptance or not acceptance["rounds"]:
        return {}
    return {
        **acceptance,
        "accept_length": 1.0 + acceptance["accepted"] / acceptance["rounds"],
        "emitted_per_round": sum(max(0, osl_of(record) - 1) for record in done) / acceptance["rounds"],
    }
