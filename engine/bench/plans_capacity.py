"""Blocks of the sweep `capacity`: the base and single settings under one memory budget."""

from __future__ import annotations

from engine.bench.cells import Arm, Block, Cell, drafting, in_mode
from engine.bench.plans_search import known, turns
from engine.bench.stages import Capacity
from engine.bench.workloads import Workload

GRAPH = "graph"


def arms(stage: Capacity) -> tuple[Arm, ...]:
    """The base, every setting, and the base once more in mode `graph` where a setting needs that mode."""
    # a prompt fills a chunk whatever the campaign's is; a setting that names the chunk has its own
    budget = known(device_memory=stage.device_bytes, mem_fraction_static=stage.mem_fraction_static, max_total_num_tokens=None, chunked_prefill_size=stage.isl)
    base = drafting(stage.lane, stage.block_size).with_knobs("base", **budget)
    changed = [(name in stage.graphed, base.with_knobs(f"{name}={value}", **{name: value})) for name, value in stage.values]
    plain, graphed = ([base, *(arm for needs, arm in changed if needs is mode)] for mode in (False, True))
    return (*plain, *(in_mode(arm, GRAPH) for arm in graphed)) if len(graphed) > 1 else tuple(plain)


def capacity(stage: Capacity) -> list[Block]:
    """Per repeat: every arm boots and serves the same wave once."""
    workload = Workload("capacity", "random-ids", stage.max_concurrency, stage.isl, dataset="random-ids")
    every = arms(stage)
    return [
        # no clock is read here, so one request warms up what is built on first use; a whole wave would be the probe itself
        Block(repeat, every, turns([Cell("capacity", arm, workload, stage.isl, stage.osl, stage.max_concurrency, repeat, warmup=1) for arm in every], repeat))
        for repeat in range(stage.repeats)
    ]
