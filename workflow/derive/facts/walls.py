"""Which of the two pools fills: KV pages and recurrent state slots of each lane, at the largest concurrency of the sweep."""

from __future__ import annotations

from workflow.derive.facts.lanes import levels
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing, Rows

BLOCKS = ("cap", "state_slots", "kv_pages", "prefill_budget", "new_token_reserve")


def cells(read, lane: str) -> Rows:
    return read.points("concurrency", lane=lane, max_concurrency=levels(read)[-1])


@fact("walls.concurrency", kind="count")
def concurrency(read):
    """largest concurrency that both lanes were run at"""
    return levels(read)[-1]


@fact("walls.{lane}.{pool}", kind="percent", unit="percent", lane=DECLARED["lane"], pool=("kv", "state"))
def usage(read, lane, pool):
    """largest share of a pool in use at the largest concurrency, mean over its cells"""
    return cells(read, lane).mean(f"{pool}_usage_max").to("percent")


@fact("walls.{lane}.{size}", kind="count", lane=DECLARED["lane"], size=("tokens", "slots", "cap"))
def size(read, lane, size):
    """KV tokens of the pool, state slots of the pool, or requests admitted at once"""
    column = {"tokens": "max_total_num_tokens", "slots": "state_slots", "cap": "effective_max_running_requests"}[size]
    found = {round(value) for value in cells(read, lane).read(column)}
    if len(found) > 1:
        raise Missing(f"boots of lane {lane} differ in {column}")
    return found.pop()


@fact("walls.{lane}.queue", kind="count", lane=DECLARED["lane"])
def queue(read, lane):
    """most requests waiting at once"""
    return max(cells(read, lane).read("queue_max"))
