"""Which of the two pools fills, KV pages or recurrent state slots, in each lane at the largest concurrency; and what a request cap trades."""

from __future__ import annotations

from workflow.derive.facts.lanes import levels
from workflow.derive.facts.search import named
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing, Rows


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


CAPS = tuple(range(1, 7))
"""Places of the request caps that were tried, from the lowest up."""
END = {"lowest": 0, "highest": -1}


def capped(read, **where) -> Rows:
    """Cells of the search under several request caps, at the block size of its base: one thing differs."""
    lane, size = named(read, "base")
    return read.points("search", stage="factorial", lane=lane, block_size=size or None, **where)


def caps(read) -> list[str]:
    return sorted(set(capped(read).texts("effective_max_running_requests")), key=int)


def one_cap(read, place) -> Rows:
    """Cells of one cap. `place`: 1 for the lowest, or the name of an end."""
    found = caps(read)
    if place in END:
        if len(found) < 2:
            raise Missing("the search tried one request cap at the block size of its base")
        return capped(read, effective_max_running_requests=found[END[place]])
    if place > len(found):
        raise Missing(f"{len(found)} request caps were tried")
    return capped(read, effective_max_running_requests=found[place - 1])


def whole(rows: Rows, column: str) -> int:
    return rows.whole(column, "cells of one request cap")


@fact("walls.cap.gamma", kind="count")
def cap_gamma(read):
    """block size at which request caps are compared: that of the search's base"""
    return whole(capped(read), "block_size")


@fact("walls.cap.concurrency", kind="count")
def cap_concurrency(read):
    """requests in flight in the cells that compare request caps"""
    return whole(capped(read), "max_concurrency")


for prefix, choices in (("t{place}", CAPS), ("{place}", tuple(END))):

    @fact(f"walls.cap.{prefix}.cap", kind="count", place=choices)
    def cap(read, place):
        """requests admitted at once under one request cap"""
        return whole(one_cap(read, place), "effective_max_running_requests")

    @fact(f"walls.cap.{prefix}.tokens", kind="count", place=choices)
    def cap_tokens(read, place):
        """KV tokens of the pool under one request cap"""
        return whole(one_cap(read, place), "max_total_num_tokens")

    @fact(f"walls.cap.{prefix}.slots", kind="count", place=choices)
    def cap_slots(read, place):
        """recurrent state slots of the pool under one request cap"""
        return whole(one_cap(read, place), "state_slots")

    @fact(f"walls.cap.{prefix}.state", kind="percent", unit="percent", place=choices)
    def cap_state(read, place):
        """largest share of the state slots in use under one request cap, mean over its cells"""
        return one_cap(read, place).mean("state_usage_max").to("percent")

    @fact(f"walls.cap.{prefix}.ttft_ms", kind="duration", unit="ms", place=choices)
    def cap_ttft(read, place):
        """mean time to first token under one request cap, mean over its cells"""
        return one_cap(read, place).mean("mean_ttft_ms")

    @fact(f"walls.cap.{prefix}.output_throughput", kind="rate", unit="token/s", place=choices)
    def cap_throughput(read, place):
        """output throughput under one request cap, mean over its cells"""
        return one_cap(read, place).mean("output_throughput")
