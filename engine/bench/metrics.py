"""Statistics of one cell, from the records of its requests and steps. Definitions are those of the points schema."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Sequence
from statistics import fmean, median

# A 99th percentile of fewer samples than this is the maximum under another name.
P99_SAMPLES = 100


def percentile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics; `share` in 0..1."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def summary(name: str, values: Sequence[float]) -> dict[str, float | None]:
    """Columns mean_NAME_ms, median_NAME_ms and p99_NAME_ms."""
    return {
        f"mean_{name}_ms": fmean(values) if values else None,
        f"median_{name}_ms": median(values) if values else None,
        f"p99_{name}_ms": percentile(values, 0.99) if len(values) >= P99_SAMPLES else None,
    }


def grams(ids: Sequence[int], size: int = 4) -> tuple[int, int]:
    """(distinct, all) n-grams of one output."""
    every = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
    return len(set(every)), len(every)


def distinct_share(outputs: Sequence[Sequence[int]]) -> float | None:
    """Distinct 4-grams over all 4-grams, counted within each output, pooled. Low: the text repeats itself."""
    counts = [grams(ids) for ids in outputs]
    total = sum(every for _, every in counts)
    return sum(distinct for distinct, _ in counts) / total if total else None


def output_sha(ids: Sequence[int]) -> str:
    return hashlib.sha256(",".join(map(str, ids)).encode("ascii")).hexdigest()[:12]


def tpot_ms(first_token_s: float, end_s: float, osl: int) -> float | None:
    """Time per output token after the first; None where there is no second token, or where a client read all of them at once."""
    return 1000.0 * (end_s - first_token_s) / (osl - 1) if osl > 1 and end_s > first_token_s else None


def itl_ms(emissions_s: Sequence[float]) -> list[float]:
    """Gaps between emissions; the tokens of one round come as one emission."""
    return [1000.0 * (later - earlier) for earlier, later in itertools.pairwise(emissions_s)]
