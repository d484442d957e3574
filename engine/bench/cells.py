"""What is measured: arms (one engine configuration each), cells (one arm under one load) and blocks (arms alive at once)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.bench.workloads import Workload


@dataclass(frozen=True)
class Arm:
    """One configuration of the engine; a boot of it is one process."""

    label: str
    lane: str
    block_size: int | None = None
    """γ; None in the plain lane."""

    @property
    def window(self) -> int:
        """Positions the target verifies a request and step."""
        return 1 if self.block_size is None else self.block_size + 1


PLAIN = Arm("plain", "plain")
MTP = Arm("mtp", "mtp", 1)


def dspark(block_size: int, label: str | None = None) -> Arm:
    return Arm(label or f"dspark-g{block_size}", "dspark", block_size)


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

    @property
    def declared_isl(self) -> int | None:
        """None where prompts keep their natural length."""
        return None if self.workload.content in ("arith", "mixed") else self.isl


@dataclass(frozen=True)
class Block:
    """Arms that are alive at once and their cells in the order they run, so that drift hits all of them alike."""

    number: int
    arms: tuple[Arm, ...]
    cells: tuple[Cell, ...]
    trace: Cell | None = None
    """A cell whose first request is run once more, apart from the points, with its rounds recorded."""
