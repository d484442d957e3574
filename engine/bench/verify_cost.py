"""What a verify window costs: T_verify(k), T_decode, T_draft and the rest of a step, by mode and model, on one wall clock.

    python -m engine.bench.verify_cost --models trained,random-25m --modes eager,fused-shared --widths 1-8 --batches 1,4

Every variant is alive in one process and visited in a rotating order, so that a drift of the machine hits all of them alike. Beside
the wall clock stand the sums of per-operator timers, measured apart: what they miss is what happens between the operators.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from engine.arguments import Parser
from engine.config import FUSED_VERIFY, MODELS, MODES, WEIGHTS, ConfigError, EngineConfig, SamplingParams
from engine.types import Request, StepRecord
from engine.uncollected import uncollected

clock = time.perf_counter


@dataclass(frozen=True)
class Variant:
    """A model in an execution mode."""

    model: str = "trained"
    mode: str = "eager"
    fused_verify: str = "shared"

    @property
    def label(self) -> str:
        return f"{self.model}/{self.mode}" + (f"-{self.fused_verify}" if self.mode == "fused" else "")


@dataclass(frozen=True)
class Plan:
    """What is timed. A visit runs one untimed forward and `inner` timed ones."""

    variants: tuple[Variant, ...]
    widths: tuple[int, ...] = tuple(range(1, 17))
    batches: tuple[int, ...] = (1, 4, 16)
    context: int = 128
    repeats: int = 5
    inner: int = 3
    gamma: int = 3
    """Block of the rounds that give T_draft and T_other."""
    steps: int = 6
    """Engine steps timed a visit; 0 leaves the engine rows out."""
    threads: int = 1
    seed: int = 0
    acceptance: Path | None = None
    """Campaign folder whose rounds' accepted counts the cost-only models replay."""
    rounds: int = 32
    """Rounds of a visit that replays."""

    def check(self) -> None:
        """Raises `ConfigError` naming the field."""
        if not self.variants:
            raise ConfigError("verify_cost: no variant to measure; name a model and a mode")
        for name, values, least in (("widths", self.widths, 1), ("batches", self.batches, 1)):
            if not values or min(values) < least:
                raise ConfigError(f"verify_cost: {name} {list(values)}: must hold numbers of at least {least}")
        for name in ("context", "repeats", "inner", "gamma", "threads", "rounds"):
            if getattr(self, name) < 1:
                raise ConfigError(f"verify_cost: {name} {getattr(self, name)}: must be at least 1")


@dataclass(frozen=True)
class CostRow:
    """One quantity of one variant; times in milliseconds over `samples` visits."""

    model: str
    mode: str
    fused_verify: str | None
    quantity: str
    """`verify`: the target over k positions. `decode`, `draft`, `commit`, `other`, `step`: parts of an engine step and all of it.
    `token`: step time over the tokens a request got, with replayed acceptance where the lane speculates; a sample is a visit."""
    lane: str | None
    instrument: bool
    """Operator classes were clocked during the step; beside the same step without, it says what clocking costs."""
    batch: int
    width: int
    """k: positions a request that the target ran."""
    context: int
    samples: int
    min_ms: float
    median_ms: float
    max_ms: float
    block_sum_ms: float | None
    """Sum of the operator-class timers of one forward (least of the visits); clocked apart from the times above."""
    block_ms: dict[str, float] | None
    """The same by class."""
    parameters: int
    weights_bytes: int
    """What a step reads that touches every weight once."""
    bytes_read: int
    """What this step reads: with experts, those that its positions chose."""
    experts_touched: int | None
    """Summed over layers; None for a dense model."""
    read_gb_s: float
    bound_ms: float
    """bytes_read at the bandwidth measured in this run."""
    ratio: float | None
    """min_ms over that of width 1, same variant and batch; None for engine steps."""
    isa: str | None
    padded: int
    """Positions the forward ran for nobody: a batch filled up to its bucket."""
    status: str = "measured"
    """`simulated` where the acceptance was replayed."""
    tokens_per_round: float | None = None
    """Committed tokens a round, as replayed."""
    acceptance: str | None = None
    """Where the replayed counts come from."""
    boot: int = 0
    """Which target or engine of this process was timed: what is loaded once, and shares every accident of its placement."""


@dataclass
class _Cell:
    times: list[float]
    blocks: dict[str, float] | None = None
    experts: int | None = None
    padded: int = 0
    tokens: int = 0
    rounds: int = 0


def measure(plan: Plan, weights: Path = WEIGHTS, progress: Callable[[str], None] = lambda text: None) -> list[CostRow]:
    """Rows of a plan. Raises `ConfigError` on a plan or variant that cannot be served."""
    plan.check()
    with uncollected():
        import torch

        from engine.bench.bandwidth import read_gb_s

    torch.set_num_threads(plan.threads)
    forwards, engines = _Forwards(plan, weights, progress), _Engines(plan, weights, progress)
    bandwidths = [read_gb_s()]
    for repeat in range(plan.repeats):
        order = _turned(plan.variants, repeat)
        for variant in order:
            progress(f"pass {repeat + 1} of {plan.repeats}: {variant.label}")
            forwards.visit(variant)
            engines.visit(variant)
        bandwidths.append(read_gb_s())
    bandwidth = max(bandwidths)
    return [*forwards.rows(bandwidth), *engines.rows(bandwidth, forwards)]


def _turned(variants: Sequence[Variant], by: int) -> list[Variant]:
    """Rotated, and every other time reversed: no variant keeps its place."""
    start = by % len(variants)
    order = [*variants[start:], *variants[:start]]
    return order[::-1] if by % 2 else order


class _Forwards:
    """T_verify: the target alone."""

    def __init__(self, plan: Plan, weights: Path, progress: Callable[[str], None]) -> None:
        from engine.bench.rig import Rig
        from engine.model.clock import OperatorClock

        self.plan, self.cells = plan, {}
        self.plain, self.clocked = {}, {}
        for variant in plan.variants:
            progress(f"load {variant.label}")
            config = EngineConfig(
                weights=weights, lane="plain", model=variant.model, mode=variant.mode, fused_verify=variant.fused_verify, threads=plan.threads
            )
            sizes = (max(plan.batches), plan.context, max(plan.widths))
            self.plain[variant] = Rig(config, *sizes)
            # compiled code carries its own clock; operators of Python need a second target whose calls are wrapped
            self.clocked[variant] = self.plain[variant] if variant.mode == "fused" else Rig(config, *sizes, OperatorClock())

    def visit(self, variant: Variant) -> None:
        import torch

        rig = self.plain[variant]
        with torch.inference_mode():
            for rows in self.plan.batches:
                for width in self.plan.widths:
                    cell = self.cells.setdefault((variant, rows, width), _Cell([]))
                    batch = rig.batch(rows, width)
                    rig.forward(batch)
                    for _ in range(self.plan.inner):
                        start = clock()
                        rig.forward(batch)
                        cell.times.append(1e3 * (clock() - start))
                    self._clock(variant, rows, width, cell)

    def _clock(self, variant: Variant, rows: int, width: int, cell: _Cell) -> None:
        """One more forward with the operator classes clocked, on a warm target."""
        rig = self.clocked[variant]
        batch = rig.batch(rows, width)
        rig.begin_clock()
        rig.forward(batch)
        rig.take_clock()
        rig.forward(batch)
        blocks = rig.take_clock()
        rig.end_clock()
        if cell.blocks is None or sum(blocks.values()) < sum(cell.blocks.values()):
            cell.blocks = blocks
        cell.experts, cell.padded = rig.experts_touched(), rig.padded(rows, width)

    def rows(self, bandwidth: float) -> Iterable[CostRow]:
        boots = list(self.plain)
        for (variant, rows, width), cell in self.cells.items():
            rig = self.plain[variant]
            single = self.cells.get((variant, rows, 1))
            yield _row(
                variant, self.plan, rig, cell, bandwidth, quantity="verify", lane=None, instrument=False, batch=rows, width=width,
                ratio=min(cell.times) / min(single.times) if single else None, boot=boots.index(variant),
            )


def _row(variant: Variant, plan: Plan, rig, cell: _Cell, bandwidth: float, **fields) -> CostRow:
    read = rig.bytes_read(cell.experts)
    return CostRow(
        model=variant.model, mode=variant.mode, fused_verify=variant.fused_verify if variant.mode == "fused" else None, context=plan.context,
        samples=len(cell.times), min_ms=min(cell.times), median_ms=statistics.median(cell.times), max_ms=max(cell.times),
        block_sum_ms=sum(cell.blocks.values()) if cell.blocks else None, block_ms=cell.blocks, parameters=rig.source.parameters,
        weights_bytes=rig.weights_bytes, bytes_read=read, experts_touched=cell.experts, read_gb_s=bandwidth, bound_ms=read / bandwidth / 1e6,
        isa=getattr(rig.target, "isa", None), padded=cell.padded, **fields,
    )


class _Engines:
    """Parts of whole engine steps: plain decoding, and rounds of the block drafter."""

    PARTS = ("step", "decode", "draft", "commit", "other")

    def __init__(self, plan: Plan, weights: Path, progress: Callable[[str], None]) -> None:
        from engine.bench.replayed import read_trace
        from engine.engine import Engine

        self.plan, self.cells, self.engines = plan, {}, {}
        if not plan.steps:
            return
        self.trace = read_trace(plan.acceptance, plan.gamma, plan.seed) if plan.acceptance else None
        top = max(plan.batches)
        room = plan.context + (max(plan.steps, plan.rounds if self.trace else 0) + 2) * (plan.gamma + 1) + 16
        for variant in plan.variants:
            progress(f"boot {variant.label}")
            base = EngineConfig(
                weights=weights, model=variant.model, mode=variant.mode, fused_verify=variant.fused_verify, threads=plan.threads,
                max_running_requests=top, max_total_num_tokens=(top + 1) * (room + 16), context_length=2 * room, block_size=plan.gamma,
            )
            for lane, instrument in (("plain", False), ("plain", True), ("dspark", False)):
                self.engines[variant, lane, instrument] = Engine(replace(base, lane=lane, instrument=instrument))

    def visit(self, variant: Variant) -> None:
        for (owner, lane, instrument), engine in self.engines.items():
            if owner == variant:
                for rows in self.plan.batches:
                    for step in self._steps(engine, rows, self.plan.steps):
                        self._book(variant, lane, instrument, rows, step)
                    if self.trace and variant.model != "trained" and not instrument:
                        self._replay(variant, lane, rows, engine)

    def _replay(self, variant: Variant, lane: str, rows: int, engine) -> None:
        """A visit for `token`: plain decoding as it is, rounds with the acceptance of the trace."""
        from engine.bench.replayed import ReplayedAcceptance

        cell = self.cells.setdefault((variant, lane, False, rows, "token"), _Cell([]))
        own, engine.accept = engine.accept, ReplayedAcceptance(self.trace, at=cell.rounds)
        try:
            steps = self._steps(engine, rows, self.plan.rounds)
        finally:
            engine.accept = own
        committed = sum(step.committed for step in steps)
        cell.times.append(rows * sum(step.step_ms for step in steps) / committed)
        cell.tokens += committed
        cell.rounds += rows * len(steps)

    def _steps(self, engine, rows: int, count: int) -> list[StepRecord]:
        """`count` timed decode steps or rounds of `rows` requests, after the first one."""
        import torch

        plan, vocab = self.plan, engine.model.vocab_size
        generator = torch.Generator().manual_seed(plan.seed)
        sampling = SamplingParams(max_tokens=(count + 2) * (plan.gamma + 1), ignore_eos=True)
        for i in range(rows):
            ids = tuple(torch.randint(4, vocab, (plan.context,), generator=generator).tolist())
            engine.add_request(Request(str(i), ids, sampling))
        timed = []
        while len(timed) <= count and engine.has_work:
            step = engine.step()
            if step is not None and step.kind != "prefill" and step.running == rows:
                timed.append(step)
        for i in range(rows):
            engine.abort(str(i))
        engine.pop_finished()
        return timed[1:]

    def _book(self, variant: Variant, lane: str, instrument: bool, rows: int, step: StepRecord) -> None:
        parts = {
            "step": step.step_ms,
            "decode": step.verify_ms,
            "draft": step.draft_ms,
            "commit": step.commit_ms,
            "other": step.step_ms - step.verify_ms - step.draft_ms - step.commit_ms,
        }
        for name in self.PARTS:
            if name == "draft" and lane == "plain":
                continue
            self.cells.setdefault((variant, lane, instrument, rows, name), _Cell([])).times.append(parts[name])

    def rows(self, bandwidth: float, forwards: _Forwards) -> Iterable[CostRow]:
        boots = list(self.engines)
        for (variant, lane, instrument, rows, name), cell in self.cells.items():
            width = 1 if lane == "plain" else self.plan.gamma + 1
            # in a speculative lane the target's part of a step is the verification of its window
            quantity = "verify" if name == "decode" and width > 1 else name
            # the same forward stands among the rows above: its experts tell what this one reads
            same = forwards.cells.get((variant, rows, width))
            cell.experts, cell.padded = (same.experts, same.padded) if same else (None, 0)
            replayed = name == "token" and lane != "plain"
            yield _row(
                variant, self.plan, forwards.plain[variant], cell, bandwidth, quantity=quantity, lane=lane, instrument=instrument,
                batch=rows, width=width, ratio=None, status="simulated" if replayed else "measured",
                tokens_per_round=cell.tokens / cell.rounds if replayed else None, acceptance=self.trace.source if replayed else None,
                boot=len(forwards.plain) + boots.index((variant, lane, instrument)),
            )


def variants_of(models: Sequence[str], modes: Sequence[str]) -> tuple[Variant, ...]:
    """Every model in every mode; `fused` alone is `fused-shared`. Raises `ConfigError` on an unknown name."""
    found = []
    for model in models:
        if model not in MODELS:
            raise ConfigError(f"--models {model}: unknown model; known are {', '.join(MODELS)}")
        for name in modes:
            mode, _, path = name.partition("-")
            if mode not in MODES or (path and (mode != "fused" or path not in FUSED_VERIFY)):
                raise ConfigError(f"--modes {name}: unknown mode; known are eager, graph, {', '.join(f'fused-{p}' for p in FUSED_VERIFY)}")
            found.append(Variant(model, mode, path or "shared"))
    return tuple(found)


def numbers(flag: str, text: str) -> tuple[int, ...]:
    """`1,2,4` or `1-16`. Raises `ConfigError`."""
    try:
        found: list[int] = []
        for part in text.split(","):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        raise ConfigError(f"{flag} {text}: must be numbers like 1,2,4 or a range like 1-16") from None
    return tuple(found)


def line(row: CostRow) -> str:
    variant = Variant(row.model, row.mode, row.fused_verify or "shared").label
    lane = f" {row.lane}{' clocked' if row.instrument else ''}" if row.lane else ""
    ratio = f"  x{row.ratio:.2f}" if row.ratio else ""
    blocks = f"  blocks {row.block_sum_ms:.3f}" if row.block_sum_ms is not None else ""
    experts = f"  experts {row.experts_touched}" if row.experts_touched is not None else ""
    return (
        f"{variant:<26} {row.quantity + lane:<18} batch {row.batch:>3} k {row.width:>2}: {row.min_ms:8.3f} ms"
        f" (median {row.median_ms:.3f}, bound {row.bound_ms:.3f}){ratio}{blocks}{experts}"
    )


def parser() -> Parser:
    default = Plan(())
    parser = Parser(prog="python -m engine.bench.verify_cost", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default="trained", metavar="A,B", help=f"of {', '.join(MODELS)} (default trained)")
    parser.add_argument("--modes", default="eager,fused-shared,fused-serial", metavar="A,B", help="of eager, graph, fused-shared, fused-serial")
    parser.add_argument("--widths", default="1-16", metavar="K", help="positions a request, like 1,2,4 or 1-16 (default 1-16)")
    parser.add_argument("--batches", default="1,4,16", metavar="B", help="requests (default 1,4,16)")
    parser.add_argument("--context", type=int, default=default.context, metavar="N", help="tokens before the window (default 128)")
    parser.add_argument("--repeats", type=int, default=default.repeats, metavar="N", help="passes over all variants (default 5)")
    parser.add_argument("--inner", type=int, default=default.inner, metavar="N", help="timed forwards a visit (default 3)")
    parser.add_argument("--steps", type=int, default=default.steps, metavar="N", help="engine steps timed a visit, 0 for none (default 6)")
    parser.add_argument(
        "--acceptance", type=Path, metavar="DIR", help="campaign folder whose rounds' accepted counts the models with random weights replay; such rows are simulated"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads (default 1)")
    parser.add_argument("--cpu", type=int, help="processor to pin to (one thread only)")
    parser.add_argument("--json", action="store_true", help="one JSON object a row and line")
    return parser


def asked(args: argparse.Namespace) -> list[CostRow]:
    """What the words of a command ask for. Raises `ConfigError`."""
    plan = Plan(
        variants_of(args.models.split(","), args.modes.split(",")), numbers("--widths", args.widths), numbers("--batches", args.batches),
        args.context, args.repeats, args.inner, steps=args.steps, threads=args.threads, acceptance=args.acceptance,
    )
    if args.cpu is not None:
        os.sched_setaffinity(0, {args.cpu})
    return measure(plan, progress=lambda text: print(text, file=sys.stderr))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the rows; exit 2 with one line on bad input."""
    args = parser().parse_args(argv)
    try:
        rows = asked(args)
    except ConfigError as fault:
        print(f"engine.bench.verify_cost: {fault}", file=sys.stderr)
        return 2
    for row in rows:
        print(json.dumps(asdict(row)) if args.json else line(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
