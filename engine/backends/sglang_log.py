"""SGLang's log: capacities out of a boot, step latencies out of decode lines. Written after the source of 0.5.23."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.backends.log_notes import notable

GB = 2**30
"""The log says GB and divides by 2**30."""

CAPACITY = re.compile(r"max_total_num_tokens=(\d+), ")
CAPACITY_CAP = re.compile(r"max_total_num_tokens=.*\bmax_running_requests=(\d+)")
AVAILABLE = re.compile(r"available_(?:gpu|cpu)_mem=([\d.]+) GB")
MAMBA = re.compile(r"Mamba Cache is allocated\. max_mamba_cache_size: (\d+),")
CAPPED = re.compile(r"max_running_requests is capped to (\d+) by the mamba state cache")
NOTABLE = (
    re.compile(r"Max running requests is reset to \d+ for speculative decoding"),
    CAPPED,
    re.compile(r"max_running_requests was reduced from the requested \d+ to \d+"),
    re.compile(r"DSpark gamma (?:is not set|mismatch)"),
    re.compile(r"DSpark draft proposal .* kept eager"),
)
"""Settings that a boot did not take as they were asked for."""

DECODE = re.compile(r"Decode batch[^,]*, #running-req: (\d+),")
ACCEPT = re.compile(r"accept len: ([\d.]+)")
THROUGHPUT = re.compile(r"gen throughput \(token/s\): ([\d.]+)")
STAMP = re.compile(r"^\[[^\]]*\]\s*")


def capacities(lines: Sequence[str]) -> dict[str, Any]:
    """Columns of the points, and `notes`. A line that a version words otherwise leaves its value out."""
    found: dict[str, Any] = {}
    for line in lines:
        if match := CAPACITY.search(line):
            found["max_total_num_tokens"] = int(match[1])
        if match := CAPACITY_CAP.search(line):
            found["effective_max_running_requests"] = int(match[1])
        if "max_total_num_tokens=" in line and (match := AVAILABLE.search(line)):
            found["available_mem_bytes"] = round(float(match[1]) * GB)
        if match := MAMBA.search(line):
            found["state_slots"] = int(match[1])
    notes = notable(lines, NOTABLE, STAMP)
    return {**found, "notes": notes} if notes else found


def step_ms(lines: Sequence[str]) -> list[float]:
    """A latency a decode line: requests x tokens a round over the tokens a second. Lines of an idle server are left out.

    The accept length is that of the line's own interval; without speculation a round is one token.
    """
    found = []
    for line in lines:
        running, rate = DECODE.search(line), THROUGHPUT.search(line)
        if running is None or rate is None or not int(running[1]) or not float(rate[1]):
            continue
        accept = ACCEPT.search(line)
        found.append(1000.0 * int(running[1]) * (float(accept[1]) if accept else 1.0) / float(rate[1]))
    return found
