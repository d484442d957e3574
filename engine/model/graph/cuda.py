"""A window as a CUDA graph. Written against torch's interface and NOT run here: no machine of this project's CI has a device.

The whole forward is recorded, paged attention included: on a device it takes its lengths and pages from tensors. So all that a
window reads stands in static tensors, sized for the largest batch of the bucket and the longest context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.batch import Batch

WARM_RUNS = 3
"""Runs on a side stream before a recording, as torch asks for: lazy initialisation must not be recorded."""


@dataclass
class CudaBatch:
    """Static inputs of one bucket. Padded rows write no keys (slot -1), read one token and use the padding state slot."""

    slots: Tensor
    block_table: Tensor
    lengths: Tensor
    window_slots: Tensor
    page_size: int
    padding_slot: int

    @classmethod
    def empty(cls, rows: int, width: int, pages: int, page_size: int, padding_slot: int, device: torch.device) -> CudaBatch:
        zeros = lambda *shape: torch.zeros(shape, dtype=torch.int64, device=device)
        return cls(zeros(rows) + padding_slot, zeros(rows, pages), zeros(rows), zeros(rows * width) - 1, page_size, padding_slot)

    @property
    def rows(self) -> int:
        return self.slots.shape[0]

    def load(self, batch: Batch) -> None:
        """Take over a batch of at most `rows` requests."""
        b, pages = batch.block_table.shape
        width = self.window_slots.shape[0] // self.rows
        self.slots.fill_(self.padding_slot)
        self.lengths.zero_()
        self.window_slots.fill_(-1)
        self.slots[:b].copy_(batch.slots)
        self.lengths[:b].copy_(batch.lengths)
        self.block_table[:b, :pages].copy_(batch.block_table)
        self.window_slots[: b * width].copy_(batch.window_slots)


class CudaWindow:
    """`forward(ids, batch)` of one bucket, recorded once; `run` loads the inputs and replays."""

    def __init__(self, forward: Callable[[Tensor, CudaBatch], tuple[Tensor, Tensor | None]], batch: CudaBatch, width: int, pool: object | None = None) -> None:
        """`pool`: `torch.cuda.graph_pool_handle()` that the graphs of all buckets share."""
        self.batch = batch
        self.ids = torch.zeros(batch.rows, width, dtype=torch.int64, device=batch.slots.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_RUNS):
                forward(self.ids, batch)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.logits, self.taps = forward(self.ids, batch)

    def run(self, ids: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """ids [b, W] with b at most the bucket -> logits [b, W, V], taps; views that the next run overwrites."""
        b = ids.shape[0]
        self.batch.load(batch)
        self.ids[:b].copy_(ids)
        self.graph.replay()
        return self.logits[:b], self.taps[:b] if self.taps is not None else None
