"""What is measured: arms (one engine configuration each), cells (one arm under one load) and blocks (arms alive at once)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.bench.workloads import Workload

Knob = str | int | float | bool | None


@dataclass(frozen=True)
class Sampling:
    """How the requests of a cell pick tokens; None keeps the campaign's temperature."""

    temperature: float | None = None
    top_p: float = 1.0
    top_k: int = 0
    ignore_eos: bool = False


@dataclass(frozen=True)
class Arm:
    """One configuration of the engine; a boot of it is one process."""

    label: str
    lane: str
    block_size: int | None = None
    """γ; None in the plain lane."""
    mode: str | None = None
    """Execution mode; None keeps the campaign's."""
    knobs: tuple[tuple[str, Knob], ...] = ()
    """Settings of `EngineConfig` that differ from the campaign's, by field name."""

    @property
    def window(self) -> int:
        """Positions the target verifies a request and step."""
        return 1 if self.block_size is None else self.block_size + 1

    def with_knobs(self, label: str, **knobs: Knob) -> Arm:
        """The same lane under a new label with settings added or replaced."""
        return Arm(label, self.lane, self.block_size, self.mode, tuple(sorted({**dict(self.knobs), **knobs}.items())))


PLAIN = Arm("plain", "plain")
MTP = Arm("mtp", "mtp", 1)


def drafting(lane: str, block_size: int, label: str | None = None) -> Arm:
    """An arm that speculates."""
    return Arm(label or f"{lane}-g{block_size}", lane, block_size)


def dspark(block_size: int, label: str | None = None) -> Arm:
    return drafting("dspark", block_size, label)


def in_mode(arm: Arm, mode: str) -> Arm:
    return Arm(f"{arm.label}/{mode}", arm.lane, arm.block_size, mode, arm.knobs)


@dataclass(frozen=True)
class Cell:
    """One arm under one load: one row of the points file."""

    stage: str
    arm: Arm
    workload: Workload
    isl: int
    osl: int
    """max_tokens of every request."""
    max_concurrency: int
    repeat: int
    """Index of the prompt set."""
    in_boot_pass: int = 0
    request_rate: float | None = None
    """Open loop: requests a second, Poisson; infinite: all at once. None: a closed loop of `max_concurrency`."""
    sampling: Sampling = Sampling()
    rounds: int = 0
    """Rounds that the cell aims at: its load is asked again with more prompts, within bounds, until they are there; 0: none."""
    warmup: int | None = None
    """Requests of the warm-up, at most; None: as many as the cell keeps in flight."""

    @property
    def warmup_requests(self) -> int:
        return min(self.max_concurrency, self.workload.num_prompts, self.warmup or self.max_concurrency)

    @property
    def declared_isl(self) -> int | None:
        """None where prompts keep their natural length."""
        return self.isl if self.workload.exact else None


@dataclass(frozen=True)
class Block:
    """Arms that are alive at once and their cells in the order they run, so that drift hits all of them alike.

    The unit of the journal: a block that was cut short is run again whole, because its boots are gone.
    """

    number: int
    arms: tuple[Arm, ...]
    cells: tuple[Cell, ...]
    trace: Cell | None = None
    """A cell whose first request is run once more, apart from the points, with its rounds recorded."""
