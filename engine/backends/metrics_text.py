"""Prometheus text as servers print it under /metrics: counters summed over engines, and what they grew by over a load."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

SAMPLE = re.compile(r"^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Counters = dict[str, float]


def counters(text: str | None, split_by: str | None = None) -> Counters | None:
    """Name -> value, summed over all other labels; with `split_by` its label's value is appended, as name:position. None for no text.

    `_created` samples are stamps that stand beside counters, no counts; sums over them are nonsense, so they are left out.
    """
    if text is None:
        return None
    found: Counters = {}
    for line in text.splitlines():
        match = SAMPLE.match(line.strip())
        if match is None or line.startswith("#") or match[1].endswith("_created"):
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if not math.isfinite(value):
            continue
        labels = dict(LABEL.findall(match[2] or ""))
        name = f"{match[1]}:{labels[split_by]}" if split_by and split_by in labels else match[1]
        found[name] = found.get(name, 0.0) + value
    return found


def delta(before: Mapping[str, float] | None, after: Mapping[str, float] | None) -> Counters:
    """What each counter grew by; one that went back was restarted, so its growth is unknown and absent.

    A counter first appears when it first counts, so one that is not in `before` was zero. A reading that failed (None) is no zero: nothing is known then.
    """
    if before is None or after is None:
        return {}
    return {name: value - before.get(name, 0.0) for name, value in after.items() if value >= before.get(name, 0.0)}
