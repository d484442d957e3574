"""Single settings, and the prefix cache."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.facts.cache import SIDE, TRAFFIC
from workflow.derive.registry import claim


def cite_cache(read) -> None:
    read.cite(*(f"shape.cache.{name}" for name in ("boots", "cells", "minutes")))
    read.cite("cache.concurrency", "cache.isl", "cache.on.slots_a_request")
    read.cite(*(f"cache.{side}.{name}" for side in SIDE for name in ("running", "slots")))
    for traffic in TRAFFIC:
        read.cite(f"cache.{traffic}.ratio", f"cache.{traffic}.hit_rate")
        read.cite(*(f"cache.{traffic}.{side}.{name}" for side in SIDE for name in ("output_throughput", "ttft_ms")))


@claim("cache.costs_on_random", kind="direction", says=("holds.lose", "fails.win"))
def costs_on_random(read):
    """On prompts that share nothing, the prefix cache lowers the output throughput."""
    cite_cache(read)
    return below(read["cache.random.ratio"])


@claim("cache.wins_on_shared", kind="direction", says=("holds.win", "fails.lose"))
def wins_on_shared(read):
    """On prompts that share a long prefix, the prefix cache raises the output throughput."""
    cite_cache(read)
    return above(read["cache.shared.ratio"])


@claim("cache.takes_room", kind="direction")
def takes_room(read):
    """With the prefix cache the engine admits fewer requests at once than without it, from the same budget."""
    cite_cache(read)
    return below(read["cache.on.running"], read["cache.off.running"])


@claim("knobs.best_pays", kind="direction", says=("best", "holds.faster", "fails.slower"))
def best_pays(read):
    """The single setting that did best at the search's load is faster than the base."""
    read.cite("knobs.tried", "knobs.resolved", "knobs.best_label", *(f"shape.knobs.{name}" for name in ("boots", "cells", "minutes")))
    return above(read["knobs.best_ratio"])
