"""A target with its pools and no engine around it: one forward at any width, batch and context, again and again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from engine.batch import int64, token_slots
from engine.config import EngineConfig, ModelConfig
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.model.checkpoint import Checkpoint
from engine.model.clock import OperatorClock
from engine.model.cost_only import weights_folder
from engine.model.modes import make_target
from engine.model.operators import Operators

PAGE = 16


@dataclass
class WindowBatch:
    """The part of `engine.batch.Batch` that a target reads."""

    slots: Tensor
    block_table: Tensor
    page_size: int
    lengths: Tensor
    window_slots: Tensor
    ids: Tensor
    """[rows, width] int64, the window's tokens."""

    @property
    def rows(self) -> int:
        return self.slots.shape[0]


class Rig:
    """Pools for `rows` requests of `context` tokens, filled with noise, under one target."""

    def __init__(self, config: EngineConfig, rows: int, context: int, width: int, clock: OperatorClock | None = None) -> None:
        """`width`: widest window. `clock`: books operator classes of an eager target."""
        folder = weights_folder(config)
        self.model = ModelConfig.load(folder / "target.json")
        self.context, self.clock = context, clock
        self.pages = -(-(context + width) // PAGE)
        self.source = Checkpoint(Path(folder) / "target.safetensors")
        ops = Operators.resolve(self.source.take("norm.weight", self.model.hidden_size), clock)
        kv = KvPool(len(self.model.attention_layers), rows * self.pages * PAGE, PAGE, self.model.num_kv_heads, self.model.head_dim)
        states = StatePool(self.model, rows, rows, width)
        generator = torch.Generator().manual_seed(3)
        for pool in (*kv.keys, *kv.values, states.temporal):
            pool.copy_(0.1 * torch.randn(pool.shape, generator=generator))
        self.target = make_target(config, self.model, self.source, ops, kv, states, ())
        self.captured: set[int] = set()
        self.rows = rows
        self.ids = torch.randint(4, self.model.vocab_size, (rows, width), generator=generator)

    @property
    def weights_bytes(self) -> int:
        """What a dense step reads: everything but the rows of the embedding that it does not look up."""
        return self.source.bytes - 2 * self.model.vocab_size * self.model.hidden_size

    def batch(self, rows: int, width: int) -> WindowBatch:
        if width not in self.captured:
            self.target.capture(self.rows, width)
            self.captured.add(width)
        tables = [list(range(r * self.pages, (r + 1) * self.pages)) for r in range(rows)]
        return WindowBatch(
            slots=int64(list(range(rows))),
            block_table=int64(tables),
            page_size=PAGE,
            lengths=int64([self.context] * rows),
            window_slots=int64([slot for table in tables for slot in token_slots(table, self.context, width, PAGE)]),
            ids=self.ids[:rows, :width].contiguous(),
        )

    def forward(self, batch: WindowBatch) -> None:
        self.target.window(batch.ids, batch)

    # what a forward did

    def bytes_read(self, experts_touched: int | None) -> int:
        """Weights one forward reads, given the experts it touched over all layers (None: all there are)."""
        model = self.model
        if experts_touched is None or not model.num_experts:
            return self.weights_bytes
        each = 2 * 3 * model.intermediate_size * model.hidden_size
        return self.weights_bytes - each * (model.num_experts * len(model.layer_types) - experts_touched)

    def experts_touched(self) -> int | None:
        """Of the last forward, summed over layers; None for a dense model."""
        return self._touched if self.model.num_experts else None

    def padded(self, rows: int, width: int) -> int:
        """Positions that a forward of this shape runs for nobody."""
        return self.target.padded_positions(rows, width)

    def begin_clock(self) -> None:
        self.target.time_classes(True)

    def end_clock(self) -> None:
        self.target.time_classes(False)

    def take_clock(self) -> dict[str, float]:
        """Milliseconds by operator class since the last call; also closes the count of experts."""
        self._touched = self.target.experts_touched()
        return self.clock.take() if self.clock else self.target.class_ms()
