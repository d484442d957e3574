"""The order of boots and cells of each stage. Pure: no engine, no clock."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.bench import plans_capacity
from engine.bench.cells import MTP, PLAIN, Arm, Block, Cell, Sampling, drafting, in_mode
from engine.bench.stages import Acceptance, Batch, Capacity, Concurrency, Content, Isl, Osl, Rate, Search, Stage, Window
from engine.bench.workloads import Workload
from engine.config import LANES, MODES


def turned(arms: Sequence[Arm], by: int) -> list[Arm]:
    """Each order, then its reverse, then the next rotation: no arm keeps a place, and a steady drift cancels over two turns."""
    start = by // 2 % len(arms)
    order = [*arms[start:], *arms[:start]]
    return order[::-1] if by % 2 else order


# Blocks that stand outside a stage's own numbering start here.
SENTINELS = 10_000


def sentinel(when: str, number: int = 0) -> Block:
    """One fixed cell of plain decoding on a boot of its own: the same at the start, at the end and after a resume, so that drift shows."""
    arm = Arm(f"sentinel-{when}", "plain")
    cell = Cell("sentinel", arm, Workload("sentinel", "code", 1, 128), 128, 48, 1, 0)
    return Block(SENTINELS + number, (arm,), (cell,))


def framed(blocks: Sequence[Block]) -> list[Block]:
    """Blocks between two sentinels."""
    return [sentinel("start", 0), *blocks, sentinel("end", 1)]


def window(stage: Window, trace_block_size: int = 3) -> list[Block]:
    """Per repeat: every arm boots, then content by content each arm once."""
    more = [Arm(lane, lane, 3) for lane in stage.lanes if lane in LANES]
    arms = (PLAIN, *(drafting(stage.lane, g) for g in stage.block_sizes), *((MTP,) if stage.mtp else ()), *more)
    traced = min(stage.block_sizes, key=lambda g: (abs(g - trace_block_size), g))
    blocks = []
    for repeat in range(stage.repeats):
        cells = [
            Cell("window", arm, Workload("window", content, stage.num_prompts, stage.isl), stage.isl, stage.osl, 1, repeat)
            for turn, content in enumerate(stage.contents)
            for arm in turned(arms, turn * 2 + repeat)
        ]
        content = "code" if "code" in stage.contents else stage.contents[0]
        trace = next(
            cell for cell in cells if cell.arm.block_size == traced and cell.arm.lane == stage.lane and cell.workload.content == content
        )
        blocks.append(Block(repeat, arms, tuple(cells), trace if repeat == stage.repeats - 1 else None))
    return [*blocks, *modes(stage)]


ALIVE = 12
"""Processes that one block of the modes keeps alive, at most: each has weights and pools of its own."""


def modes(stage: Window) -> list[Block]:
    """Execution modes beside each other, every block size in every one of them.

    Where these are too many to be alive together, a repeat has several blocks of one number: each has plain decoding of every mode beside
    its own block sizes, and what is compared is paired by that number.
    """
    named = [mode for mode in stage.modes if mode in MODES]
    if len(named) < 2:
        return []
    count = math.ceil(len(stage.mode_block_sizes) / max(1, ALIVE // len(named) - 1))
    groups = [stage.mode_block_sizes[place::count] for place in range(count)]
    blocks = []
    for repeat in range(stage.mode_repeats):
        for place, sizes in list(enumerate(groups))[:: 1 if repeat % 2 == 0 else -1]:
            arms = tuple(in_mode(arm, mode) for arm in (PLAIN, *(drafting(stage.lane, g) for g in sizes)) for mode in named)
            cells = [
                Cell("modes", arm, Workload("window", content, stage.num_prompts, stage.isl), stage.isl, stage.osl, 1, repeat, place)
                for turn, content in enumerate(stage.mode_contents)
                for arm in turned(arms, turn * 2 + repeat)
            ]
            blocks.append(Block(stage.repeats + repeat, arms, tuple(cells)))
    return blocks


def crossed(arms: tuple[Arm, ...], points: Sequence[int], repeats: int, cell: Callable[[Arm, int, int], Cell]) -> list[Block]:
    """Per repeat one block: every arm at every point, the arms taking turns. `cell` makes the cell of an arm, a point and a repeat."""
    return [
        Block(repeat, arms, tuple(cell(arm, point, repeat) for turn, point in enumerate(points) for arm in turned(arms, turn + repeat)))
        for repeat in range(repeats)
    ]


def osl(stage: Osl) -> list[Block]:
    """Per repeat: both lanes at every output length, the same prompts."""
    arms = (PLAIN, drafting(stage.lane, stage.block_size))
    workload = Workload("osl", stage.content, stage.num_prompts, stage.isl)
    every = Sampling(ignore_eos=True)
    return crossed(arms, stage.ladder, stage.repeats, lambda arm, length, repeat: Cell("osl", arm, workload, stage.isl, length, 1, repeat, sampling=every))


def forced_after(free: Workload, histories: int, osl: int) -> Workload:
    """True histories of the same documents from the places where the free-running prompts end, spread over as many tokens as these go on."""
    each = -(-histories // free.num_prompts)
    return replace(free, num_prompts=each * free.num_prompts, dataset="histories", histories=each, stride=max(1, osl // each))


def teacher_forced(arm: Arm, load: Workload, isl: int, repeat: int) -> Cell:
    """One round after each history: of two tokens the first comes from prefill, the second from the only round."""
    return Cell("teacher_forced", arm, load, isl, 2, 1, repeat)


def content(stage: Content) -> list[Block]:
    """Free-running decoding of both lanes; then, of the texts, one round after each true history that begins where its prompts end."""
    draft = drafting(stage.lane, stage.block_size)
    arms = (PLAIN, draft)
    # a place without so much text behind it would have no histories
    free = [Workload("content", name, stage.num_prompts, stage.isl, room=stage.osl) for name in stage.contents]
    # arithmetic questions are whole documents: no text of their own follows them
    forced = [forced_after(load, stage.histories, stage.osl) for load in free if load.content != "arith"]
    if stage.random_ids:
        free.append(Workload("content", "random-ids", stage.num_prompts, stage.isl, dataset="random-ids"))
    blocks = []
    for repeat in range(stage.repeats):
        cells = [Cell("content", arm, load, stage.isl, stage.osl, 1, repeat) for turn, load in enumerate(free) for arm in turned(arms, turn + repeat)]
        cells += [teacher_forced(draft, load, stage.isl, repeat) for load in forced]
        blocks.append(Block(repeat, arms, tuple(cells)))
    return blocks


def acceptance_prompts(stage: Acceptance, rounds: int) -> int:
    """Prompts that give about so many rounds, two tokens a round assumed."""
    return max(1, round(2.0 * rounds / stage.osl))


def acceptance(stage: Acceptance) -> list[Block]:
    """One arm; temperature, content and rounds are load, so one boot a repeat is enough."""
    arm = drafting(stage.lane, stage.block_size)
    blocks = []
    for repeat in range(stage.repeats):
        cells = [
            Cell(
                "acceptance",
                arm,
                Workload("acceptance", name, count, stage.isl, planned=count, repeats=stage.repeats),
                stage.isl,
                stage.osl,
                min(stage.max_concurrency, count),
                repeat,
                sampling=Sampling(temperature=temperature),
                rounds=rounds,
            )
            for temperature in stage.temperatures
            for name in stage.contents
            for rounds in stage.rounds
            for count in (acceptance_prompts(stage, rounds),)
        ]
        blocks.append(Block(repeat, (arm,), tuple(cells)))
    return blocks


def batch(stage: Batch) -> list[Block]:
    """Levels times verify windows, the same requests each time: steps of many positions from both sides."""
    arms = (PLAIN, *(drafting(stage.lane, g) for g in stage.block_sizes))
    workload = Workload("batch", "mixed", stage.num_prompts, stage.isl)
    return crossed(arms, stage.levels, stage.repeats, lambda arm, level, repeat: Cell("batch", arm, workload, stage.isl, stage.osl, level, repeat))


def isl(stage: Isl) -> list[Block]:
    """Per repeat: both lanes at every input length, free-running; then one round after each true history of the same places and lengths."""
    arms = (PLAIN, drafting(stage.lane, stage.block_size))
    workload = Workload("isl", stage.content, stage.num_prompts, max(stage.ladder), room=stage.osl)
    blocks = crossed(arms, stage.ladder, stage.repeats, lambda arm, length, repeat: Cell("isl", arm, workload, length, stage.osl, 1, repeat))
    if not stage.histories:
        return blocks
    forced = forced_after(workload, stage.histories, stage.osl)
    return [
        replace(block, cells=(*block.cells, *(teacher_forced(arms[1], forced, length, repeat) for length in stage.ladder))) for repeat, block in enumerate(blocks)
    ]


def concurrency(stage: Concurrency) -> list[Block]:
    """Per repeat: both lanes at every level, the same requests each time."""
    arms = (PLAIN, drafting(stage.lane, stage.block_size))
    workload = Workload("concurrency", "mixed", stage.num_prompts, stage.isl, range_ratio=stage.range_ratio)
    if stage.file:
        workload = replace(workload, dataset="fixed", file=stage.file)
    return crossed(arms, stage.levels, stage.repeats, lambda arm, level, repeat: Cell("concurrency", arm, workload, stage.isl, stage.osl, level, repeat))


RATE_WARMUP = 32
"""Requests of a warm-up before an open loop, whose cap is no number that is kept in flight."""


def rate(stage: Rate) -> list[Block]:
    """Per repeat: both lanes at every arrival rate, the same requests with the same gaps, stretched."""
    arms = (PLAIN, drafting(stage.lane, stage.block_size))
    workload = Workload("rate", "mixed", stage.num_prompts, stage.isl)

    def cell(arm: Arm, place: int, repeat: int) -> Cell:
        asked = stage.rates[place]
        each = math.inf if asked == "inf" else asked
        return Cell("rate", arm, workload, stage.isl, stage.osl, stage.num_prompts, repeat, request_rate=each, warmup=RATE_WARMUP)

    return crossed(arms, range(len(stage.rates)), stage.repeats, cell)


def search_cell(stage: Search, name: str, arm: Arm, repeat: int, in_boot_pass: int = 0) -> Cell:
    workload = Workload("search", "mixed", stage.num_prompts, stage.isl)
    return Cell(name, arm, workload, stage.isl, stage.osl, stage.max_concurrency, repeat, in_boot_pass)


def pairs(stage: Search, name: str, arms: tuple[Arm, Arm], count: int, first_block: int, first_repeat: int) -> list[Block]:
    """`count` blocks of two boots, each measured A B B A ... so that a linear drift cancels."""
    blocks = []
    for number in range(count):
        repeat = first_repeat + number
        cells = []
        for turn in range(stage.passes):
            order = arms if (turn + number) % 2 == 0 else arms[::-1]
            cells += [search_cell(stage, name, arm, repeat, turn) for arm in order]
        blocks.append(Block(first_block + number, arms, tuple(cells)))
    return blocks


def search_aa(stage: Search) -> list[Block]:
    """The base against itself: the spread of these pairs is the noise."""
    base = (drafting(stage.lane, stage.block_size, "base-a"), drafting(stage.lane, stage.block_size, "base-b"))
    return pairs(stage, "aa", base, stage.aa_pairs, 0, 0)


def candidates(stage: Search) -> list[Arm]:
    return [PLAIN, *(drafting(stage.lane, g) for g in stage.block_sizes if g != stage.block_size), *([MTP] if stage.mtp else [])]


def search_window(stage: Search) -> list[Block]:
    """Base, two candidates, base, two candidates, ..., base: every candidate has a base cell beside it."""
    base = drafting(stage.lane, stage.block_size, "base")
    arms = candidates(stage)
    blocks = []
    for repeat in range(stage.window_repeats):
        order = turned(arms, repeat)
        cells, base_pass = [search_cell(stage, "window", base, repeat)], 1
        for i in range(0, len(order), 2):
            cells += [search_cell(stage, "window", arm, repeat) for arm in order[i : i + 2]]
            cells.append(search_cell(stage, "window", base, repeat, base_pass))
            base_pass += 1
        blocks.append(Block(stage.aa_pairs + repeat, (base, *arms), tuple(cells)))
    return blocks


def search_confirm(stage: Search, candidate: Arm) -> list[Block]:
    """Base and candidate on fresh boots and prompts that no earlier stage has seen, where the held-out text has enough."""
    arms = (drafting(stage.lane, stage.block_size, "base"), Arm("candidate", candidate.lane, candidate.block_size))
    done = stage.aa_pairs + stage.window_repeats
    return pairs(stage, "confirm", arms, stage.confirm_pairs, done, max(stage.aa_pairs, stage.window_repeats))


def blocks_of(name: str, stage: Stage) -> list[Block]:
    """Every block of a stage, for the estimate; the search's last ones stand in for a candidate not yet known."""
    match stage:
        case Window():
            return window(stage)
        case Isl():
            return isl(stage)
        case Osl():
            return osl(stage)
        case Content():
            return content(stage)
        case Acceptance():
            return acceptance(stage)
        case Batch():
            return batch(stage)
        case Capacity():
            return plans_capacity.capacity(stage)
        case Concurrency():
            return concurrency(stage)
        case Rate():
            return rate(stage)
        case Search():
            return [*search_aa(stage), *search_window(stage), *search_confirm(stage, drafting(stage.lane, stage.block_size))]
    raise ValueError(name)
