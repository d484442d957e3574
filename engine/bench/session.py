"""Run blocks of cells on booted engines, journal them and collect the rows. A cell that fails becomes a row; the run goes on."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.backends import backend
from engine.backends.base import CAPABILITIES, LOST, PROBE, SIDE_BY_SIDE, TRACE, Backend, EngineFailure
from engine.backends.embedded import PROBE_TIMEOUT_S
from engine.backends.identity import differs
from engine.backends.server_config import ServerConfig
from engine.backends.worker_process import WorkerProcess
from engine.bench import contiguity, probe, rows, sizing
from engine.bench.arrivals import poisson
from engine.bench.campaign import Campaign
from engine.bench.cells import PLAIN, Arm, Block, Cell
from engine.bench.cost import Cost
from engine.bench.datasets import nonced, without_nonce
from engine.bench.describe import describe, outcome
from engine.bench.estimate import CostModel
from engine.bench.floor import Floor
from engine.bench.journal import Journal, digest
from engine.bench.progress import Progress
from engine.bench.workloads import HeldOut, Prompt, seed_of
from engine.config import ConfigError, EngineConfig
from engine.csvio import Row
from engine.machine import Machine, Ticks, load_average
from engine.memory.limit import said_bytes

# A cell may take this many times its estimate, and never less than the floor, before it counts as hung.
PATIENCE = 20.0
PATIENCE_FLOOR_S = 60.0
WARMUP_TOKENS = 6
# Boots of one arm in one block that may die before its other cells are skipped.
DEATHS_ALLOWED = 2
TRACE_TOKENS = 40
# A cell whose probes moved more than the campaign's tolerance is measured again, once, while this share of the cells is not used up.
AGAIN_SHARE = 0.1
# Lanes that a checkout may have no weights for: then their rows say so.
OPTIONAL_LANES = ("dflash", "lookup")
# Reading the clock of the machine again is not needed where the last probe on this processor is this young.
PROBE_AGE_S = 0.5
EVERYTHING = frozenset(CAPABILITIES)
# How far a probe may move as long as no A/A pair has been measured on this machine.
FIRST_TOLERANCE = 0.1


@dataclass
class Rows:
    points: list[Row] = field(default_factory=list)
    requests: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    trace: list[Row] = field(default_factory=list)

    def take(self, record: dict) -> None:
        """The rows of one journal record."""
        if record["kind"] == "cell":
            self.points.append(record["point"])
            self.requests += record["requests"]
            self.steps += record["steps"]
        elif record["kind"] == "trace":
            self.trace += record["rows"]


@dataclass
class Readings:
    """Probes of the machine by one kind of process, the last one taken at `at_s` of time.monotonic."""

    taken: list[dict[str, float]] = field(default_factory=list)
    at_s: float = -math.inf


@dataclass
class Boot:
    """One engine process and what it has been warmed up for."""

    arm: Arm
    boot_id: str
    engine: Backend
    warmed: set[tuple] = field(default_factory=set)


def unwarmed(records: Sequence[dict]) -> EngineFailure | None:
    """Why a warm-up did not warm up: its requests that did not end as asked; None where all of them did."""
    failed = [record for record in records if not rows.ended(record)]
    if not failed:
        return None
    reason = failed[0]["finish_reason"] or "no answer"
    status = "oom" if "out of memory" in reason.lower() else "crash" if reason.startswith(LOST) else "rejected"
    return EngineFailure(status, f"warm-up: {len(failed)} of {len(records)} requests failed: {reason}")


class Session:
    """Everything one command measures. `family` names the run ids, `identity` what else a row depends on (code, weights)."""

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
        engine_class: Callable[..., Backend] | None = None,
        journal: Journal | None = None,
        identity: str = "",
        logs: Path | None = None,
        first: int = 0,
    ) -> None:
        self.campaign = campaign
        self.family = family
        self.held_out = held_out
        self.progress = progress
        self.machine = machine
        self.cpu = cpu
        self.text_of = text_of
        self.engine_class = engine_class or backend(campaign.backend)
        self.journal = journal or Journal(None)
        self.identity = identity
        self.logs = logs
        """Where a server's logs are kept."""
        self.served_before = False
        self.scattered = False
        """Whether it was said that free memory is."""
        # a server's boot is its own; workers are started ahead, since most of their start needs no configuration
        self.pool = self.engine_class.pool(campaign.threads, cpu) if campaign.server is None else None
        self.costs = CostModel()
        self.rows = Rows()
        self.cost = Cost()
        self.info: dict[str, dict] = {}
        """server_info of the first boot of each lane."""
        self.seeds: dict[str, int] = {}
        self.inside, self.beside = Readings(), Readings()
        """Probes by the process that is measured, and by one beside it; what another process takes is compared with its own."""
        self.prober: WorkerProcess | None = None
        """A process without an engine that probes the machine for boots with a memory budget, on their processor."""
        self.again = 0
        self.tolerance = campaign.probe_tolerance or FIRST_TOLERANCE
        spent = self.journal.spent()
        self.first = first
        """Number of the first cell and of the first boot: above 0 in a part of a sweep."""
        self.number = 1 + max((record["number"] for record in spent if record["kind"] == "cell"), default=first - 1)
        self.boots = 1 + max((record["number"] for record in spent if record["kind"] == "boot"), default=first - 1)
        self.attempt = self.journal.attempts()
        self.settle(spent)
        self.before_s = sum(record["seconds"] for record in spent)
        """Time of earlier processes of this command, from their records."""
        self.constant: Row = {
            "campaign": campaign.name,
            "backend": campaign.backend,
            "host": machine.host,
            "device": machine.cpu,
            "threads": campaign.threads,
            "code": code,
            "model": model,
        }

    def close(self) -> None:
        """Measuring is over: processes that wait for a boot or for a probe are ended."""
        if self.pool:
            self.pool.close()
        if self.prober:
            self.prober.stop()
            self.prober = None

    def settle(self, spent: Sequence[dict], journal: Journal | None = None) -> None:
        """Book what earlier processes of this command (or of another, whose journal it is) spent; what they lost is waste."""
        kept = {(one["block"], one["attempt"]) for one in (journal or self.journal).earlier if one["kind"] == "closed"}
        for record in spent:
            self.cost.add(record)
            if (record["block"], record["attempt"]) not in kept and not record.get("discarded"):
                self.cost.wasted_s += record["seconds"]

    def since_start(self) -> float:
        """Seconds after the first process of this command began."""
        return time.time() - self.journal.epoch

    def key(self, block: Block) -> str:
        """What a block is: its whole definition, everything that a boot or a prompt depends on, code and weights."""
        return digest([self.identity, self.campaign.identity(), block])

    def run(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self.run_block(block)

    def run_block(self, block: Block) -> None:
        """Boot every arm, run the cells in order, end every process; or take the block from the journal."""
        key = self.key(block)
        done = self.journal.closed(key)
        if done is not None:
            self.restore(block, done)
            return
        self.begin(key)
        if SIDE_BY_SIDE in self.capabilities:
            self.run_arms(block, block.arms)
        else:
            # one server fills the device: arms take turns, in the other order every second block, so that drift does not pick one of them
            for arm in block.arms if block.number % 2 == 0 else reversed(block.arms):
                self.run_arms(block, (arm,))
        self.journal.append({"kind": "closed", **self.open})
        for name in ("points", "requests", "steps", "trace"):
            getattr(self.rows, name).extend(getattr(self.fresh, name))

    def run_arms(self, block: Block, arms: Sequence[Arm]) -> None:
        """Boot these arms of a block, run their cells in order, end every process."""
        labels = {arm.label for arm in arms}
        boots: dict[str, Boot | EngineFailure] = {}
        deaths: Counter[str] = Counter()
        try:
            for arm in arms:
                boots[arm.label] = self.boot(arm, block)
            for cell in block.cells:
                if cell.arm.label not in labels:
                    continue
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
            if block.trace is not None and block.trace.arm.label in labels:
                self.trace(block.trace, boots[block.trace.arm.label])
        finally:
            for boot in boots.values():
                if isinstance(boot, Boot):
                    boot.engine.stop()

    @property
    def capabilities(self) -> frozenset[str]:
        """What the backend can do; a class that does not say (a stand-in of a test) is taken for the embedded engine."""
        return getattr(self.engine_class, "capabilities", EVERYTHING)

    def begin(self, key: str) -> None:
        """What is noted from here on belongs to this attempt at the block `key`."""
        self.open = {"block": key, "attempt": self.attempt}
        self.attempt += 1
        self.fresh = Rows()

    def restore(self, block: Block, records: Sequence[dict]) -> None:
        for record in records:
            self.rows.take(record)
            if record["kind"] == "boot" and record["info"]:
                self.info.setdefault(record["lane"], record["info"])
        for cell in block.cells:
            self.seed(cell)
        self.progress.result(f"block {block.number} taken from the journal", self.costs.block_s(block))

    def note(self, record: dict) -> None:
        """Into the journal, the ledger and the rows of the open block."""
        record = {**record, **self.open}
        self.journal.append(record)
        self.fresh.take(record)
        if record["kind"] in ("boot", "cell"):
            self.cost.add(record)

    def config(self, arm: Arm) -> EngineConfig | ServerConfig:
        changes = dict(arm.knobs)
        if self.campaign.server is not None:
            mode = {} if arm.mode is None else {"mode": arm.mode}
            if "device_memory" not in self.engine_class.flags.knobs:
                # the budget of a server is its device
                changes.pop("device_memory", None)
            return self.campaign.server.boot(arm.lane, arm.block_size, {**mode, **changes})
        unknown = [name for name in changes if name not in EngineConfig.__dataclass_fields__]
        if unknown:
            raise ConfigError(f"arm {arm.label}: the engine has no setting {', '.join(unknown)}")
        block_size = self.campaign.engine.block_size if arm.block_size is None else arm.block_size
        mode = {} if arm.mode is None else {"mode": arm.mode}
        return replace(self.campaign.engine, lane=arm.lane, block_size=block_size, **mode, **changes)

    def boot(self, arm: Arm, block: Block) -> Boot | EngineFailure:
        """A booted engine, or why there is none. Bad settings are the caller's fault and end the command."""
        number = self.boots
        self.boots += 1
        stage = block.cells[0].stage
        self.progress.cell(self.family, f"boot {arm.label}")
        boot_id = f"{self.family}-b{number:03d}"
        started_s = 0.0
        if self.campaign.server is None:
            engine, started_s = self.worker(arm)
            if engine.config.device_memory and not self.prober:
                # while nothing is measured: it may have to import
                self.prober = self.pool.take()
        elif reason := self.cannot(arm):
            self.progress.say(f"{arm.label}: skipped: {reason}")
            return EngineFailure("skipped", reason)
        else:
            engine = self.engine_class(self.config(arm), self.cpu, self.logs / boot_id, not self.served_before)
        record = {"kind": "boot", "number": number, "boot_id": boot_id, "label": arm.label, "lane": arm.lane, "stage": stage}
        begin = time.perf_counter()
        try:
            info = self.booted(engine, arm)
        except EngineFailure as failure:
            engine.stop()
            self.note({**record, "seconds": started_s + time.perf_counter() - begin, "info": None, "failed": failure.status})
            self.progress.say(f"{arm.label}: boot failed ({failure.status}): {failure.note}")
            return failure
        except BaseException:
            engine.stop()
            raise
        self.served_before = True
        share = info.get("free_huge_share")
        if not self.scattered and share is not None and share < contiguity.SCATTERED:
            self.scattered = True
            self.progress.say(
                f"free memory is scattered ({100 * share:.0f} % of it in blocks of 2 MiB): boots may differ by more than what is compared; "
                "as root, `echo 1 > /proc/sys/vm/compact_memory`"
            )
        self.info.setdefault(arm.lane, info)
        self.note({**record, "seconds": started_s + time.perf_counter() - begin, "info": info})
        self.progress.result(f"booted {arm.label} in {engine.boot_s:.1f} s", self.costs.boot_s)
        return Boot(arm, boot_id, engine)

    def worker(self, arm: Arm, fault: str | None = None) -> tuple[Backend, float]:
        """An embedded engine before its boot, and what the start of its process cost this command in seconds."""
        config = self.config(arm)
        process = self.pool.take()
        return self.engine_class(config, self.cpu, process, fault), process.share_s

    def cannot(self, arm: Arm) -> str | None:
        """Why a server cannot boot an arm; None where it can."""
        try:
            self.engine_class.flags.words(self.config(arm))
        except ConfigError as error:
            return str(error)
        return None

    def booted(self, engine: Backend, arm: Arm) -> dict:
        """server_info. Settings that a candidate brings and no boot can serve reject the candidate; the campaign's own end the command.

        Which lanes a foreign server has is its own business, so each of them is a candidate.
        """
        try:
            info = engine.boot()
        except ConfigError as error:
            foreign = self.campaign.server is not None and arm.lane != "plain"
            if not (arm.knobs or arm.mode or arm.lane in OPTIONAL_LANES or foreign):
                raise
            raise EngineFailure("rejected", str(error)) from None
        earlier = [one["info"] for one in self.journal.earlier if one["kind"] == "boot" and one["info"]]
        if self.campaign.server is not None and (how := differs(earlier, info)):
            raise ConfigError(f"{self.journal.path}: begun on another server ({how}); measure anew, without --resume")
        return info

    def prompts(self, cell: Cell) -> list[Prompt]:
        return self.held_out.prompts(cell.workload, cell.isl, campaign=self.campaign.name, seed=self.campaign.seed, repeat=cell.repeat)

    def seed(self, cell: Cell) -> int:
        seed = seed_of(self.campaign.name, self.campaign.seed, cell.workload.name, cell.workload.content, cell.repeat)
        self.seeds[f"{cell.workload.name}/{cell.workload.content}/{cell.repeat}"] = seed
        return seed

    def nonce(self, cell: Cell, boot: Boot, turn: int) -> str:
        """What makes the prompts of a cell new to a server that keeps its cache; empty where that is emptied.

        By load, repeat, pass and try, never by arm: every arm that is compared gets equal prompts, and its own process, which had none of them.
        A server that runs already is one process for all of them and outlives this command, so there each boot has its own.
        """
        if boot.engine.flushes:
            return ""
        fresh = self.campaign.server is None or boot.engine.launches
        return digest([replace(cell, arm=PLAIN), turn, *([] if fresh else [boot.boot_id, self.journal.epoch])])

    def orders(self, cell: Cell, prompts: Sequence[Prompt], max_tokens: int) -> list[dict]:
        """Requests of a cell as the worker reads them. Sampling seeds depend on the prompt only, so every arm draws alike."""
        seed = self.seed(cell)
        how = cell.sampling
        sampling = {
            "temperature": self.campaign.temperature if how.temperature is None else how.temperature,
            "top_p": how.top_p,
            "top_k": how.top_k,
            "ignore_eos": how.ignore_eos,
            "max_tokens": max_tokens,
        }
        return [
            {
                "request_id": f"r{number}",
                "prompt_ids": prompt.ids,
                "sampling": {**sampling, "seed": seed + number},
            }
            for number, prompt in enumerate(prompts)
        ]

    def warm_up(self, cell: Cell, boot: Boot) -> float:
        """Once per boot and shape: a few tokens of as many requests as the cell asks for, on other text. Returns its seconds.

        A shape is a prefill length, one chunk at most (a longer prompt repeats that chunk), and the requests in flight.
        """
        length = min(cell.isl, self.campaign.engine.chunked_prefill_size)
        shape = (length, cell.max_concurrency)
        if shape in boot.warmed:
            return 0.0
        boot.warmed.add(shape)
        source = self.held_out.warmup_ids
        count = cell.warmup_requests
        starts = [(i * 37) % max(1, len(source) - length) for i in range(count)]
        prompts = [Prompt("warm-up", "en", (self.held_out.bos, *source[at : at + length - 1])) for at in starts]
        begin = time.perf_counter()
        answer = boot.engine.run(self.orders(cell, prompts, WARMUP_TOKENS), cell.max_concurrency, self.patience(cell))
        if (failure := unwarmed(answer["requests"])) is not None:
            # a boot that cannot answer its warm-up is not what the cell is about: its log may know more than the request was told
            raise boot.engine.told(failure)
        return time.perf_counter() - begin

    def patience(self, cell: Cell) -> float:
        return max(PATIENCE_FLOOR_S, PATIENCE * self.costs.cell_s(cell))

    def measure(self, cell: Cell, block: Block, boot: Boot | EngineFailure) -> None:
        """One row of points, with its requests and steps; once more where the machine moved under it."""
        tries = 2 if self.again < AGAIN_SHARE * (10 + self.number - self.first) else 1
        for turn in range(tries):
            if self.once(cell, block, boot, turn, discarding=turn < tries - 1):
                return
            self.again += 1

    def once(self, cell: Cell, block: Block, boot: Boot | EngineFailure, turn: int, discarding: bool) -> bool:
        """The try `turn` at a cell; False where the row was thrown away because its probes moved."""
        number = self.number
        self.number += 1
        run_id = f"{self.family}-{number:04d}"
        self.progress.cell(cell.stage, f"{describe(cell)} ({number + 1})")
        prompts = self.prompts(cell)
        record = {"kind": "cell", "number": number, "stage": cell.stage, "label": cell.arm.label, "warmup_s": 0.0, "requests": [], "steps": []}
        base: Row = {**self.constant, **rows.knob_columns(self.config(cell.arm)), "seed": self.seed(cell)}
        if base.get("temperature") is None:
            base["temperature"] = self.campaign.temperature if cell.sampling.temperature is None else cell.sampling.temperature
        begin = time.perf_counter()
        place = rows.Place(run_id, block.number, "", number, self.since_start())
        if isinstance(boot, EngineFailure):
            self.failed(cell, record, {**base, **rows.load_columns(cell, place)}, boot, begin)
            return True
        place = replace(place, boot_id=boot.boot_id)
        base |= {**rows.load_columns(cell, place), **rows.capacity_columns(boot.engine.info, boot.engine.boot_s)}
        # what the boot had to say about itself: a block size above the trained one, a lane that proposed nothing
        base["note"] = "; ".join(boot.engine.info.get("notes") or ()) or None
        try:
            record["warmup_s"] = self.warm_up(cell, boot)
            planned = cell.workload.num_prompts
            while True:
                before, ticks = self.probe(boot), self.ticks()
                due = None if cell.request_rate is None else poisson(cell.request_rate, len(prompts), self.seed(cell))
                # prompts that are asked again, with more of them, are another load: they find nothing of the first time in a cache
                if nonce := self.nonce(cell, boot, turn):
                    prompts = nonced(prompts, nonce, self.held_out, cell.workload.dataset == "shared-prefix")
                answer = boot.engine.run(self.orders(cell, prompts, cell.osl), cell.max_concurrency, self.patience(cell), due_s=due)
                if nonce:
                    answer = without_nonce(answer)
                more = sizing.more_prompts(cell, sizing.rounds_of(answer), planned, self.held_out.most(cell.workload)) if cell.rounds else None
                if more is None:
                    break
                cell = replace(cell, workload=replace(cell.workload, num_prompts=more))
                prompts, base["num_prompts"] = self.prompts(cell), more
            shares = self.shares(ticks)
            after = self.probe(boot, fresh=True)
        except EngineFailure as failure:
            # whatever it was doing is still in its queues: the next cell of this arm gets a fresh process
            boot.engine.kill()
            self.failed(cell, record, base, failure, begin)
            return True
        base |= rows.probe_columns(before, after) | shares
        shift = probe.moved(before, after, self.readings(boot).taken[:-1])
        result = rows.result_columns(prompts, answer, cell.max_concurrency, cell.arm.lane != "plain")
        point = {**base, **result, "note": "; ".join(note for note in (base["note"], sizing.short_of(cell, result.get("rounds")), result.get("note")) if note) or None}
        record["seconds"] = time.perf_counter() - begin
        if discarding and shift > self.tolerance and point["status"] == "ok":
            why = f"a probe moved by {100 * shift:.0f} % (tolerance {100 * self.tolerance:.0f} %); measured again"
            self.note({**record, "discarded": True, "point": {**base, "status": "rejected", "note": why}})
            self.progress.result(f"{describe(cell)}: {why}", 0.0)
            return False
        point["measured_again"] = int(not discarding and self.again > 0 and self.was_discarded(cell))
        requests = rows.request_rows(run_id, prompts, answer["requests"], answer.get("arrivals_s") or {})
        self.note({**record, "point": point, "requests": requests, "steps": rows.step_rows(run_id, answer["steps"])})
        self.progress.result(f"{describe(cell)}: {outcome(point)}", self.costs.cell_s(cell))
        return True

    def tolerate(self, floor: Floor) -> None:
        """From here on the measured floor decides which cells are repeated, unless the campaign has fixed a tolerance."""
        if self.campaign.probe_tolerance is None:
            self.tolerance = floor.tolerance

    def was_discarded(self, cell: Cell) -> bool:
        last = self.fresh.points[-1] if self.fresh.points else {}
        return last.get("status") == "rejected" and last.get("label") == cell.arm.label and (last.get("note") or "").startswith("a probe moved")

    def probe(self, boot: Boot, fresh: bool = False) -> dict[str, float]:
        """A probe of the machine: the last one where it was just taken, unless a fresh one is asked for.

        Beside a boot with a memory budget, on its processor: the probe's own buffers would be taken from what the cell is about. A server
        that cannot probe is probed for by this process, where both run on one machine.
        """
        if PROBE not in self.capabilities and not self.here:
            return {}
        known = self.readings(boot)
        if not fresh and known.taken and time.monotonic() - known.at_s < PROBE_AGE_S:
            return known.taken[-1]
        if PROBE not in self.capabilities:
            taken = probe.measure()
        elif known is self.beside:
            taken = self.prober.ask({"order": "probe", "cpu": self.cpu}, PROBE_TIMEOUT_S)
        else:
            taken = boot.engine.probe()
        known.taken.append(taken)
        known.at_s = time.monotonic()
        return known.taken[-1]

    def readings(self, boot: Boot) -> Readings:
        """The probes that those around a cell of this boot are compared with."""
        return self.beside if self.prober and boot.engine.config.device_memory else self.inside

    def ticks(self) -> Ticks | None:
        """Of the pinned processor; of all of them where the engine has them all; None where a server runs on another machine."""
        return Ticks.read(self.cpu) if self.here else None

    @property
    def here(self) -> bool:
        """Whether what is measured runs on this machine."""
        return self.campaign.server is None or self.campaign.server.here

    def shares(self, before: Ticks | None) -> Row:
        """What the hypervisor took of the processors that a cell ran on, and the machine's load after it."""
        now = self.ticks()
        known = before is not None and now is not None and now.total_s > before.total_s
        steal = (now.steal_s - before.steal_s) / (now.total_s - before.total_s) if known else None
        return {"steal_share": None if steal is None else round(steal, 4), "load_average": load_average()[0]}

    def failed(self, cell: Cell, record: dict, row: Row, failure: EngineFailure, begin: float) -> None:
        point = {**row, "status": failure.status, "note": failure.note}
        if failure.status == "oom":
            point["oom_asked_bytes"], point["oom_free_bytes"] = said_bytes(failure.note)
        if failure.kind:
            point["failure"] = failure.kind
        self.note({**record, "seconds": time.perf_counter() - begin, "point": point})
        self.progress.say(f"{describe(cell)}: {failure.status}: {failure.note}")
        self.progress.result(f"{describe(cell)}: {failure.status}", self.costs.cell_s(cell))

    def trace(self, cell: Cell, boot: Boot | EngineFailure) -> None:
        """The rounds of the first prompt, apart from the measured cells: recording them costs time. No rows where it fails."""
        if TRACE not in self.capabilities:
            self.progress.say(f"no trace: {self.campaign.backend} does not hand out rounds")
            return
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
        found = rows.trace_rows(cell, self.campaign.name, prompt, answer["requests"][0], self.text_of)
        self.note({"kind": "trace", "rows": found})
