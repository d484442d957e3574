"""The prefix cache as a bet: on against off, on prompts that share nothing and on prompts that share a long prefix; and what it reserves."""

from __future__ import annotations

from workflow.derive.facts.beside import logs_beside, mean_drawn
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample

DATASET = {"random": "random-ids", "shared": "shared-prefix"}
LABEL = {"off": "radix-off", "on": "radix-on"}
TRAFFIC, SIDE = tuple(DATASET), tuple(LABEL)


def cells(read, side: str, **where) -> Rows:
    return read.points("search", stage="cache", label=LABEL[side], **where)


@fact("cache.{traffic}.ratio", kind="ratio", traffic=TRAFFIC)
def ratio(read, traffic):
    """output throughput with the cache / without it, exp of the mean logarithm over boots, paired by boot"""
    off, on = (cells(read, side, dataset=DATASET[traffic]) for side in SIDE)
    return mean_drawn(on, logs_beside(on, off, "cache")).exp()


@fact("cache.{traffic}.{side}.output_throughput", kind="rate", unit="token/s", traffic=TRAFFIC, side=SIDE)
def output_throughput(read, traffic, side):
    """output throughput of the plain lane, mean over its cells"""
    return cells(read, side, dataset=DATASET[traffic]).mean("output_throughput")


@fact("cache.{traffic}.{side}.ttft_ms", kind="duration", unit="ms", traffic=TRAFFIC, side=SIDE)
def ttft(read, traffic, side):
    """mean time to first token, mean over its cells"""
    return cells(read, side, dataset=DATASET[traffic]).mean("mean_ttft_ms")


@fact("cache.{traffic}.hit_rate", kind="percent", unit="percent", traffic=TRAFFIC)
def hit_rate(read, traffic):
    """share of the prompt tokens that came from the cache"""
    return cells(read, "on", dataset=DATASET[traffic]).mean("cache_hit_rate").to("percent")


def whole(read, side: str, column: str) -> int:
    """A size of the engine, the same in all boots of one side."""
    return cells(read, side).whole(column, f"boots of {LABEL[side]}")


@fact("cache.{side}.running", kind="count", side=SIDE)
def running(read, side):
    """requests that the engine admits at once"""
    return whole(read, side, "effective_max_running_requests")


@fact("cache.{side}.slots", kind="count", side=SIDE)
def slots(read, side):
    """recurrent state slots of the pool"""
    return whole(read, side, "state_slots")


@fact("cache.on.slots_a_request", kind="count")
def slots_a_request(read):
    """state slots / requests admitted at once, with the cache, whole slots"""
    return int(read["cache.on.slots"].value // read["cache.on.running"].value)


@fact("cache.foretold_running", kind="count", status="computed")
def foretold_running(read):
    """state slots of the boots without the cache / slots a request with it, whole requests"""
    each = read["cache.on.slots_a_request"].value
    if each < 1:
        raise Missing("with the cache more requests are admitted than there are slots")
    return int(read["cache.off.slots"].value // each)


@fact("cache.concurrency", kind="count")
def concurrency(read):
    """requests in flight in the cells of the cache stage"""
    return whole(read, "on", "max_concurrency")


@fact("cache.isl", kind="count", unit="token")
def isl(read):
    """prompt tokens of each request of the cache stage"""
    return Sample(whole(read, "on", "isl"), "token")
