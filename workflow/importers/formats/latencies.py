"""Mean, median and 99th percentile of the four latencies, as clients in Python name them."""

from __future__ import annotations

from workflow.importers.fields import Fields

OURS = ("ttft", "tpot", "itl", "e2e")
STATS = ("mean", "median", "p99")


def latencies(fields: Fields, names: dict[str, tuple[str, ...]], unit: str) -> dict:
    """Our columns from keys such as `p99_ttft_ms`; `names`: ours -> the tool's, newer ones first."""
    found = {}
    for ours in OURS:
        for stat in STATS:
            words = (stat, "p50") if stat == "median" else (stat,)
            keys = [f"{word}_{name}_ms" for name in names.get(ours, ()) for word in words]
            if keys:
                found[f"{stat}_{ours}_ms"] = fields.number(*keys, unit=unit, ours="ms")
    return found
