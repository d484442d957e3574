"""vLLM's log: capacities out of a boot, step latencies out of its statistics lines. Written after the messages of 0.32.0, not after a boot."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.backends.log_notes import notable

KV_TOKENS = re.compile(r"KV cache size: ([\d,]+) tokens")
NOTABLE = (
    re.compile(r"Maximum concurrency for [\d,]+ tokens per request: [\d.]+x"),
    re.compile(r"Available KV cache memory: -?[\d.]+ GiB"),
)
STATISTICS = re.compile(r"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs")
ACCEPT = re.compile(r"Mean acceptance length: ([\d.]+)")
VERSION = re.compile(r"vLLM (?:API server )?version (\S+)")
MESSAGE = re.compile(r"^.*?\] ")


def capacities(lines: Sequence[str]) -> dict[str, Any]:
    """Columns of the points, and `notes`."""
    found: dict[str, Any] = {}
    for line in lines:
        if match := KV_TOKENS.search(line):
            found["max_total_num_tokens"] = int(match[1].replace(",", ""))
        if match := VERSION.search(line):
            found.setdefault("server_version", match[1].rstrip(",."))
    notes = notable(lines, NOTABLE, MESSAGE)
    return {**found, "notes": notes} if notes else found


def step_ms(lines: Sequence[str]) -> list[float]:
    """A latency a statistics line with requests in it; the acceptance line that follows it belongs to the same interval."""
    found: list[tuple[float, float]] = []
    for line in lines:
        if (match := STATISTICS.search(line)) and int(match[2]) and float(match[1]):
            found.append((1000.0 * int(match[2]) / float(match[1]), 1.0))
        elif (match := ACCEPT.search(line)) and found:
            found[-1] = (found[-1][0], float(match[1]))
    return [per_token * accept for per_token, accept in found]
