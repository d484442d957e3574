"""Blocks of the search's later stages. Settings of the server are the outer loop, load the inner one, so that boots are few."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bench.cells import PLAIN, Arm, Block, Cell, drafting
from engine.bench.stages import Cache, Curve, Factorial, Heads, Knobs, Lanes, Memory, Search
from engine.bench.workloads import Workload
from engine.config import EngineConfig

# First block number of each stage, so that numbers of stages never meet.
FIRST = {"memory": 1000, "cache": 2000, "knobs": 3000, "factorial": 4000, "heads": 5000, "lanes": 6000, "curve": 7000}


def known(**settings: object) -> dict:
    """The settings that this engine has."""
    return {name: value for name, value in settings.items() if name in EngineConfig.__dataclass_fields__}


def memory_lanes(stage: Memory, search: Search) -> list[str]:
    """The lanes whose ceiling is looked for: what stands in the stage as dspark is the lane that drafts, of a server another one."""
    return [lane if lane == "plain" else search.lane for lane in stage.lanes]


def memory_arm(lane: str, stage: Memory, search: Search, fraction: float, label: str) -> Arm:
    """One candidate fraction. The pools are sized by the budget alone."""
    settings = known(
        device_memory=stage.device_bytes,
        mem_fraction_static=fraction,
        max_running_requests=stage.max_concurrency,
        max_total_num_tokens=None,
        chunked_prefill_size=stage.isl,
        radix_cache=False,
    )
    base = PLAIN if lane == "plain" else drafting(search.lane, search.block_size)
    return base.with_knobs(f"{lane}-{label}", **settings)


def hostile(stage: Memory, arm: Arm, number: int) -> Block:
    """One wave of prompts that fill a whole prefill chunk, as many at once as the lane serves."""
    workload = Workload("memory", "random-ids", stage.max_concurrency, stage.isl, dataset="random-ids")
    # no clock is read here, so one request warms up what is built on first use; a whole wave would be the probe itself
    cell = Cell("memory", arm, workload, stage.isl, stage.osl, stage.max_concurrency, 0, warmup=1)
    return Block(FIRST["memory"] + number, (arm,), (cell,))


def turns(cells: Sequence[Cell], number: int) -> tuple[Cell, ...]:
    return tuple(cells if number % 2 == 0 else reversed(cells))


def cache(stage: Cache) -> list[Block]:
    """The prefix cache on and off, on prompts that share nothing and on prompts that share a long prefix."""
    # a whole prefill chunk's activations must fit beside the pools
    settings = known(device_memory=stage.device_bytes, max_total_num_tokens=None, max_running_requests=None, chunked_prefill_size=1024)
    off = PLAIN.with_knobs("radix-off", radix_cache=False, **settings)
    on = PLAIN.with_knobs("radix-on", radix_cache=True, **settings)
    arms = (off, on)
    if stage.extra_buffer:
        arms = (*arms, PLAIN.with_knobs("radix-on/extra_buffer", radix_cache=True, radix_strategy="extra_buffer", **settings))
    isl = stage.gsp_system_prompt_len + stage.gsp_question_len
    count = stage.gsp_num_groups * stage.gsp_prompts_per_group
    shared = Workload(
        "cache-shared",
        "en",
        count,
        isl,
        dataset="shared-prefix",
        gsp_num_groups=stage.gsp_num_groups,
        gsp_system_prompt_len=stage.gsp_system_prompt_len,
    )
    unique = Workload("cache-random", "random-ids", count, isl, dataset="random-ids")
    blocks = []
    for repeat in range(stage.repeats):
        cells = [Cell("cache", arm, workload, isl, stage.gsp_output_len, stage.max_concurrency, repeat) for workload in (unique, shared) for arm in arms]
        blocks.append(Block(FIRST["cache"] + repeat, arms, turns(cells, repeat)))
    return blocks


def knob_arms(stage: Knobs, search: Search) -> list[tuple[Arm, Arm, str]]:
    """(base, changed, regime) of every knob: at the matched load, and where the knob can bind."""
    base = drafting(search.lane, search.block_size, "base")
    found = []
    for name, value in stage.values:
        label = f"{name}={value}"
        found.append((base, base.with_knobs(label, **{name: value}), "matched"))
        tight = dict(dict(stage.binding).get(name, ()))
        settings = known(**{key: one for key, one in tight.items() if not key.startswith("load_")})
        if tight:
            bound = base.with_knobs("base@bind", **settings)
            found.append((bound, bound.with_knobs(f"{label}@bind", **{name: value}), name))
    return found


def load_of(stage: Knobs, search: Search, regime: str) -> tuple[Workload, int, int, int]:
    """(workload, isl, osl, concurrency) of a regime."""
    tight = dict(dict(stage.binding).get(regime, ()))
    isl, osl = int(tight.get("load_isl", search.isl)), int(tight.get("load_osl", search.osl))
    level = int(tight.get("load_concurrency", search.max_concurrency))
    count = max(level, int(tight.get("load_num_prompts", search.num_prompts)))
    if regime == "radix_cache":
        groups = 2
        count -= count % groups
        shared = Workload(f"knobs-{regime}", "en", count, isl, dataset="shared-prefix", gsp_num_groups=groups, gsp_system_prompt_len=isl * 7 // 8)
        return shared, isl, osl, level
    content = "code" if isl > search.isl else "mixed"
    return Workload(f"knobs-{regime}", content, count, isl), isl, osl, level


def knobs(stage: Knobs, search: Search) -> list[Block]:
    """One knob at a time against the base: all that share a regime are alive together, the base between them."""
    regimes: dict[str, list[tuple[Arm, Arm]]] = {}
    for base, arm, regime in knob_arms(stage, search):
        regimes.setdefault(regime, []).append((base, arm))
    blocks = []
    for place, (regime, pairs) in enumerate(regimes.items()):
        workload, isl, osl, level = load_of(stage, search, regime)
        base, arms = pairs[0][0], [arm for _, arm in pairs]
        for repeat in range(stage.repeats):
            cells = [Cell("knobs", base, workload, isl, osl, level, repeat)]
            for turn, arm in enumerate(arms if repeat % 2 == 0 else arms[::-1], start=1):
                cells += [Cell("knobs", arm, workload, isl, osl, level, repeat), Cell("knobs", base, workload, isl, osl, level, repeat, turn)]
            blocks.append(Block(FIRST["knobs"] + place * 100 + repeat, (base, *arms), tuple(cells)))
    return blocks


def factorial(stage: Factorial, search: Search) -> list[Block]:
    """Request cap times block size, under one memory budget that both draw on."""
    workload = Workload("factorial", "mixed", stage.num_prompts, search.isl)
    blocks = []
    for repeat in range(stage.repeats):
        arms = tuple(
            drafting(search.lane, gamma).with_knobs(
                f"cap-{cap}/g{gamma}", max_running_requests=cap, **known(device_memory=stage.device_bytes, max_total_num_tokens=None, chunked_prefill_size=512)
            )
            for cap in stage.caps
            for gamma in stage.block_sizes
        )
        cells = [Cell("factorial", arm, workload, search.isl, search.osl, stage.max_concurrency, repeat) for arm in arms]
        blocks.append(Block(FIRST["factorial"] + repeat, arms, turns(cells, repeat)))
    return blocks


def heads(stage: Heads, search: Search) -> list[Block]:
    """The Markov head's variants, each content one request at a time."""
    if not known(markov_head_type=0):
        return []
    arms = tuple(drafting(search.lane, search.block_size).with_knobs(f"head-{kind}", markov_head_type=kind) for kind in stage.types)
    blocks = []
    for repeat in range(stage.repeats):
        cells = [
            Cell("heads", arm, Workload("heads", content, stage.num_prompts, stage.isl), stage.isl, stage.osl, 1, repeat)
            for content in stage.contents
            for arm in arms
        ]
        blocks.append(Block(FIRST["heads"] + repeat, arms, turns(cells, repeat)))
    return blocks


def lane_candidates(stage: Lanes) -> list[Arm]:
    """Every lane with the block sizes it is tried with."""
    found = [PLAIN]
    for lane, sizes in stage.block_sizes:
        found += [Arm(f"{lane}-g{size}" if lane != "mtp" else "mtp", lane, size) for size in sizes]
    return found


def lanes_at(arms: Sequence[Arm], stage: Lanes, search: Search, levels: Sequence[int], name: str, first: int) -> list[Block]:
    """Arms at some levels, the same requests each time."""
    workload = Workload("lanes", "mixed", max(stage.num_prompts, max(levels)), search.isl)
    blocks = []
    for repeat in range(stage.repeats):
        cells = [Cell(name, arm, workload, search.isl, search.osl, level, repeat) for level in levels for arm in arms]
        blocks.append(Block(first + repeat, tuple(arms), turns(cells, repeat)))
    return blocks


def curve(stage: Curve, search: Search, winner: Arm) -> list[Block]:
    """The winner and plain decoding at every number of requests in flight."""
    arms = (PLAIN, Arm("winner", winner.lane, winner.block_size, winner.mode, winner.knobs))
    workload = Workload("curve", "mixed", max(stage.levels), search.isl)
    blocks = []
    for repeat in range(stage.repeats):
        cells = [Cell("curve", arm, workload, search.isl, search.osl, level, repeat) for level in stage.levels for arm in arms]
        blocks.append(Block(FIRST["curve"] + repeat, arms, turns(cells, repeat)))
    return blocks
