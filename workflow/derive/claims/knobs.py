"""Single settings, and the prefix cache."""

import math

from workflow.derive.claims.kinds import above, below, counted
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


@claim("cache.capacity_arithmetic", kind="count", measure="requests")
def capacity_arithmetic(read):
    """With the prefix cache the engine admits as many requests as the pool of the boots without it has slots for, a whole number of slots each."""
    cite_cache(read)
    if read.exact("cache.on.slots_a_request").value == 1:
        read.unresolved("with the cache a request takes one slot, as without it")
    return counted(read["cache.foretold_running"], round(read.exact("cache.on.running").value))


@claim("knobs.chunk.floor_not_slope", kind="direction")
def floor_not_slope(read):
    """Where it can bind, the smallest prefill chunk tried costs throughput against the base's, and the largest less than its part of that by halvings."""
    read.cite("knobs.chunk.isl", *(f"knobs.chunk.{side}.ratio" for side in ("small", "large")))
    small, large, base = (math.log2(read.exact(f"knobs.chunk.{side}.size").value) for side in ("small", "large", "base"))
    if base <= large:
        read.unresolved("the base's prefill chunk is not larger than those beside it")
    if not read.has("knobs.chunk.detectable"):
        read.unresolved("nothing says how far the ratio may be off")
    off = math.log1p(read.exact("knobs.chunk.detectable").to("").value)
    kept = {side: above(read.exact(f"knobs.chunk.{side}.ratio")) for side in ("small", "large")}
    if kept["small"].value > -off:
        read.unresolved("the smallest prefill chunk costs nothing beyond the noise, so there is no price to divide")
    part = (base - large) / (base - small)
    return kept["large"] - kept["small"] * part, math.hypot(1, part) * off


@claim("knobs.best_pays", kind="direction", says=("best", "holds.faster", "fails.slower"))
def best_pays(read):
    """The single setting that did best at the search's load, of those that could have an effect there, is faster than the base."""
    read.cite("knobs.tried", "knobs.resolved", "knobs.best_label", *(f"shape.knobs.{name}" for name in ("boots", "cells", "minutes")))
    return above(read["knobs.best_ratio"])
