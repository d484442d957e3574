"""How long a plan will take: a rough cost of boots and cells, corrected by what the run itself shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.bench.cells import Block, Cell


@dataclass(frozen=True)
class CostModel:
    """Costs of the eager engine on one thread of a server processor; only the estimate uses them, no result does."""

    start_s: float = 2.0
    """A command before its first boot and after its last: hashes, tokenizer, files."""
    boot_s: float = 1.25
    """With the end of the process, and where two of them import at once."""
    step_ms: float = 4.3
    row_ms: float = 0.45
    """Added to a step by each further position that is verified."""
    draft_ms: float = 1.5
    tokens_per_round: float = 2.2
    prefill_tokens_per_s: float = 3200.0
    around_s: float = 0.12
    """Probes and bookkeeping around a cell."""

    def cell_s(self, cell: Cell) -> float:
        """One cell with its probes; warm-ups belong to the block."""
        rows = cell.max_concurrency * cell.arm.window
        step_ms = self.step_ms + self.row_ms * (rows - 1)
        per_step = 1.0
        if cell.arm.block_size is not None:
            step_ms += self.draft_ms
            per_step = min(self.tokens_per_round, cell.arm.window)
        tokens = cell.workload.num_prompts * cell.osl / cell.max_concurrency
        busy = tokens / per_step * step_ms / 1000.0 + self.prefill_s(cell.workload.num_prompts, cell.isl)
        # an open loop lasts at least until its last request is due
        due = 0.0 if cell.request_rate is None else cell.workload.num_prompts / cell.request_rate
        return max(busy, due) + self.around_s

    def prefill_s(self, prompts: int, isl: int) -> float:
        return prompts * isl / self.prefill_tokens_per_s

    def warm_up_s(self, cell: Cell, chunk: int = 2048) -> float:
        """Prefill of one warm-up; its few decode steps are left out."""
        return self.prefill_s(cell.warmup_requests, min(cell.isl, chunk))

    def block_s(self, block: Block) -> float:
        """Boots, cells, and a warm-up for each boot and shape."""
        shapes = {(cell.arm.label, cell.isl, cell.max_concurrency): cell for cell in block.cells}
        warm = sum(self.warm_up_s(cell) for cell in shapes.values())
        return self.boot_s * len(block.arms) + warm + sum(self.cell_s(cell) for cell in block.cells)


def total_s(blocks: Sequence[Block], costs: CostModel = CostModel()) -> float:
    return sum(costs.block_s(block) for block in blocks)


def command_s(blocks: Sequence[Block], costs: CostModel = CostModel()) -> float:
    """A command with these blocks from its start to its files."""
    return costs.start_s + total_s(blocks, costs)


def minutes(seconds: float) -> str:
    """`3.4 min`, or seconds below one and a half minutes."""
    return f"{math.ceil(seconds)} s" if seconds < 90 else f"{seconds / 60:.1f} min"
