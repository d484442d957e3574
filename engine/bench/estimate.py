"""How long a plan will take: a rough cost of boots and cells, corrected by what the run itself shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.bench.cells import Block, Cell


@dataclass(frozen=True)
class CostModel:
    """Costs of the eager engine on one thread of a server processor; only the estimate uses them, no result does."""

    boot_s: float = 1.7
    step_ms: float = 4.8
    row_ms: float = 0.45
    """Added to a step by each further position that is verified."""
    draft_ms: float = 1.5
    tokens_per_round: float = 1.9
    prefill_tokens_per_s: float = 3700.0

    def cell_s(self, cell: Cell) -> float:
        """Warm-up included."""
        rows = cell.max_concurrency * cell.arm.window
        step_ms = self.step_ms + self.row_ms * (rows - 1)
        per_step = 1.0
        if cell.arm.block_size is not None:
            step_ms += self.draft_ms
            per_step = min(self.tokens_per_round, cell.arm.window)
        tokens = cell.workload.num_prompts * cell.osl / cell.max_concurrency
        prefill = (cell.workload.num_prompts + 1) * cell.isl / self.prefill_tokens_per_s
        return tokens / per_step * step_ms / 1000.0 + prefill + 0.05

    def block_s(self, block: Block) -> float:
        return self.boot_s * len(block.arms) + sum(self.cell_s(cell) for cell in block.cells)


def total_s(blocks: Sequence[Block], costs: CostModel = CostModel()) -> float:
    return sum(costs.block_s(block) for block in blocks)


def minutes(seconds: float) -> str:
    """`3.4 min`, or seconds below one and a half minutes."""
    return f"{math.ceil(seconds)} s" if seconds < 90 else f"{seconds / 60:.1f} min"
