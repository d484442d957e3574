"""Run blocks of cells on booted engines and collect the rows. A cell that fails becomes a row; the run goes on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.backends import backend
from engine.backends.embedded import EmbeddedBackend, EngineFailure
from engine.bench import rows
from engine.bench.campaign import Campaign
from engine.bench.cells import Arm, Block, Cell
from engine.bench.estimate import CostModel
from engine.bench.progress import Progress
from engine.bench.workloads import HeldOut, Prompt, seed_of
from engine.config import EngineConfig
from engine.csvio import Row
from engine.machine import Machine

# A cell may take this many times its estimate, and never less than the floor, before it counts as hung.
PATIENCE = 20.0
PATIENCE_FLOOR_S = 60.0
WARMUP_TOKENS = 6
# Boots of one arm in one block that may die before its other cells are skipped.
DEATHS_ALLOWED = 2
TRACE_TOKENS = 40


@dataclass
class Cost:
    """What a command spent, in seconds and counts."""

    boots: int = 0
    boot_s: float = 0.0
    cells: int = 0
    cell_s: float = 0.0
    warmup_s: float = 0.0
    requests: int = 0
    failed: int = 0


@dataclass
class Rows:
    points: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    trace: list[Row] = field(default_factory=list)


@dataclass
class Boot:
    """One engine process and what it has been warmed up for."""

    arm: Arm
    boot_id: str
    engine: EmbeddedBackend
    warmed: set[tuple] = field(default_factory=set)


class Session:
    """Everything one command measures. `family` names the run ids."""

    def __init__(
        self,
        campaign: Campaign,
        family: str,
        held_out: HeldOut,
        progress: Progress,
        code: str,
        model: str,
        machine: Machine,
        cpu: int | None,
        text_of: Callable[[int], str],
        engine_class: Callable[..., EmbeddedBackend] | None = None,
    ) -> None:
        self.campaign = campaign
        self.family = family
        self.held_out = held_out
        self.progress = progress
        self.machine = machine
        self.cpu = cpu
        self.text_of = text_of
        self.engine_class = engine_class or backend(campaign.backend)
        self.costs = CostModel()
        self.rows = Rows()
        self.cost = Cost()
        self.info: dict[str, dict] = {}
        """server_info of the first boot of each lane."""
        self.seeds: dict[str, int] = {}
        self.start = time.perf_counter()
        self.constant: Row = {
            "campaign": campaign.name,
            "backend": campaign.backend,
            "host": machine.host,
            "device": machine.cpu,
            "threads": campaign.threads,
            "code": code,
            "model": model,
            "temperature": campaign.temperature,
            "chunked_prefill_size": campaign.engine.chunked_prefill_size,
            "max_running_requests": campaign.engine.max_running_requests,
        }

    def run(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self.run_block(block)

    def run_block(self, block: Block) -> None:
        """Boot every arm, run the cells in order, end every process."""
        boots: dict[str, Boot | EngineFailure] = {}
        deaths: Counter[str] = Counter()
        try:
            for arm in block.arms:
                boots[arm.label] = self.boot(arm, block)
            for cell in block.cells:
                boot = boots[cell.arm.label]
                if isinstance(boot, Boot) and not boot.engine.alive:
                    # the process died in an earlier cell: a fresh one takes over
                    boot.engine.stop()
                    deaths[cell.arm.label] += 1
                    again = deaths[cell.arm.label] < DEATHS_ALLOWED
                    boot = (
                        self.boot(cell.arm, block)
                        if again
                        else EngineFailure("skipped", f"{DEATHS_ALLOWED} boots of this arm died in this block")
                    )
                    boots[cell.arm.label] = boot
                self.measure(cell, block, boot)
            if block.trace is not None:
                self.trace(block.trace, boots[block.trace.arm.label])
        finally:
            for boot in boots.values():
                if isinstance(boot, Boot):
                    boot.engine.stop()

    def config(self, arm: Arm) -> EngineConfig:
        block_size = self.campaign.engine.block_size if arm.block_size is None else arm.block_size
        return replace(self.campaign.engine, lane=arm.lane, block_size=block_size)

    def boot(self, arm: Arm, block: Block) -> Boot | EngineFailure:
        """A booted engine, or why there is none. Bad settings are the caller's fault and end the command."""
        number = self.cost.boots
        self.cost.boots += 1
        self.progress.cell(self.family, f"boot {arm.label}")
        engine = self.engine_class(self.config(arm), self.cpu)
        try:
            info = engine.boot()
        except EngineFailure as failure:
            engine.stop()
            self.progress.say(f"{arm.label}: boot failed ({failure.status}): {failure.note}")
            return failure
        except BaseException:
            engine.stop()
            raise
        self.cost.boot_s += engine.boot_s
        self.info.setdefault(arm.lane, info)
        self.progress.result(f"booted {arm.label} in {engine.boot_s:.1f} s", self.costs.boot_s)
        return Boot(arm, f"{self.family}-b{number:03d}", engine)

    def prompts(self, cell: Cell) -> list[Prompt]:
        return self.held_out.prompts(cell.workload, cell.isl, campaign=self.campaign.name, seed=self.campaign.seed, repeat=cell.repeat)

    def seed(self, cell: Cell) -> int:
        seed = seed_of(self.campaign.name, self.campaign.seed, cell.workload.name, cell.workload.content, cell.repeat)
        self.seeds[f"{cell.workload.name}/{cell.workload.content}/{cell.repeat}"] = seed
        return seed

    def orders(self, cell: Cell, prompts: Sequence[Prompt], max_tokens: int) -> list[dict]:
        """Requests of a cell as the worker reads them. Sampling seeds depend on the prompt only, so every arm draws alike."""
        seed = self.seed(cell)
        return [
            {
                "request_id": f"r{number}",
                "prompt_ids": prompt.ids,
                "sampling": {"temperature": self.campaign.temperature, "max_tokens": max_tokens, "seed": seed + number},
            }
            for number, prompt in enumerate(prompts)
        ]

    def warm_up(self, cell: Cell, boot: Boot) -> None:
        """Once per boot and shape: as many requests as the cell keeps in flight, a few tokens each, on other text.

        A shape is a prefill length, one chunk at most (a longer prompt repeats that chunk), and the requests in flight.
        """
        length = min(cell.isl, self.campaign.engine.chunked_prefill_size)
        shape = (length, cell.max_concurrency)
        if shape in boot.warmed:
            return
        boot.warmed.add(shape)
        source = self.held_out.warmup_ids
        count = min(cell.max_concurrency, cell.workload.num_prompts)
        starts = [(i * 37) % max(1, len(source) - length) for i in range(count)]
        prompts = [Prompt("warm-up", "en", (self.held_out.bos, *source[at : at + length - 1])) for at in starts]
        begin = time.perf_counter()
        boot.engine.run(self.orders(cell, prompts, WARMUP_TOKENS), cell.max_concurrency, self.patience(cell))
        self.cost.warmup_s += time.perf_counter() - begin

    def patience(self, cell: Cell) -> float:
        return max(PATIENCE_FLOOR_S, PATIENCE * self.costs.cell_s(cell))

    def measure(self, cell: Cell, block: Block, boot: Boot | EngineFailure) -> None:
        """One row of points, with its requests and steps."""
        number = len(self.rows.points)
        run_id = f"{self.family}-{number:04d}"
        self.progress.cell(cell.stage, f"{describe(cell)} ({number + 1})")
        prompts = self.prompts(cell)
        base: Row = {**self.constant, "seed": self.seed(cell)}
        begin = time.perf_counter()
        if isinstance(boot, EngineFailure):
            place = rows.Place(run_id, block.number, "", number, begin - self.start)
            self.failed(cell, {**base, **rows.load_columns(cell, place)}, boot)
            return
        place = rows.Place(run_id, block.number, boot.boot_id, number, begin - self.start)
        base = {**base, **rows.load_columns(cell, place), **capacity(boot)}
        try:
            self.warm_up(cell, boot)
            answer = boot.engine.run(self.orders(cell, prompts, cell.osl), cell.max_concurrency, self.patience(cell))
        except EngineFailure as failure:
            # whatever it was doing is still in its queues: the next cell of this arm gets a fresh process
            boot.engine.kill()
            self.failed(cell, base, failure)
            return
        self.cost.cells += 1
        self.cost.cell_s += answer["duration_s"]
        point = {**base, **rows.result_columns(prompts, answer)}
        self.cost.requests += len(prompts)
        self.cost.failed += point["failed"]
        self.rows.points.append(point)
        self.rows.requests += rows.request_rows(run_id, prompts, answer["requests"])
        self.rows.steps += rows.step_rows(run_id, answer["steps"])
        self.progress.result(f"{describe(cell)}: {outcome(point)}", self.costs.cell_s(cell))

    def failed(self, cell: Cell, row: Row, failure: EngineFailure) -> None:
        self.rows.points.append({**row, "status": failure.status, "note": failure.note})
        self.progress.say(f"{describe(cell)}: {failure.status}: {failure.note}")
        self.progress.result(f"{describe(cell)}: {failure.status}", self.costs.cell_s(cell))

    def trace(self, cell: Cell, boot: Boot | EngineFailure) -> None:
        """The rounds of the first prompt, apart from the measured cells: recording them costs time. No rows where it fails."""
        if isinstance(boot, EngineFailure) or not boot.engine.alive:
            self.progress.say("no trace: its engine is gone")
            return
        self.progress.cell("trace", describe(cell))
        prompt = self.prompts(cell)[0]
        try:
            answer = boot.engine.run(self.orders(cell, [prompt], TRACE_TOKENS), 1, self.patience(cell), trace=True)
        except EngineFailure as failure:
            boot.engine.kill()
            self.progress.say(f"no trace: {failure.status}: {failure.note}")
            return
        self.rows.trace += rows.trace_rows(cell, self.campaign.name, prompt, answer["requests"][0], self.text_of)


def describe(cell: Cell) -> str:
    length = "natural" if cell.declared_isl is None else str(cell.isl)
    return f"{cell.arm.label} {cell.workload.content} ISL {length} OSL {cell.osl} x{cell.max_concurrency} repeat {cell.repeat}"


def outcome(point: Row) -> str:
    """The line a reader wants after a cell."""
    if point["status"] != "ok":
        return f"{point['status']}: {point['note']}"
    parts = [f"{point['output_throughput']:.0f} token/s"]
    if point["mean_tpot_ms"] is not None:
        parts.append(f"TPOT {point['mean_tpot_ms']:.2f} ms")
    if point.get("accept_length") is not None:
        parts.append(f"accept length {point['accept_length']:.2f}")
    if point["failed"]:
        parts.append(f"{point['failed']} failed")
    return ", ".join(parts)


def capacity(boot: Boot) -> Row:
    info = boot.engine.info
    return {
        "boot_s": boot.engine.boot_s,
        **{name: info.get(name) for name in ("max_total_num_tokens", "state_slots", "effective_max_running_requests")},
    }
