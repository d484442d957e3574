"""The target whose windows are replayed from tapes, one a batch bucket; a batch between two buckets is padded up.

Memory and padding are real: every bucket holds the static tensors of its forward outside the pools, and its padded rows
run through every projection. Paged attention stays outside: it runs over the real rows, each over its own length. This is the CPU's
graph; `cuda.CudaWindow` records a forward into a CUDA graph, and no device has run it yet.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ModelConfig
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.model.checkpoint import Checkpoint
from engine.model.graph.operators import Recording, int64_zeros, recordable
from engine.model.graph.tape import Tape
from engine.model.operators import Operators
from engine.model.target import Target


def buckets(top: int) -> tuple[int, ...]:
    """Batch sizes that are captured, `top` the largest: 1 2 4 8 12 16 20 24 28 32 48 64 ..."""
    sizes = [1, 2, 4, 8, *range(12, 33, 4), *range(48, top + 1, 16)]
    return (*(size for size in sizes if size < top), top)


@dataclass
class Captured:
    """One bucket: its tape and the static tensors at its ends."""

    tape: Tape
    ids: Tensor
    slots: Tensor
    logits: Tensor
    taps: Tensor | None
    windows: Tensor


class GraphTarget(Target):
    """`Target` with recorded windows of one width; other widths and larger batches run as in mode `eager`."""

    def __init__(
        self,
        config: ModelConfig,
        source: Checkpoint,
        ops: Operators,
        kv: KvPool,
        states: StatePool,
        tap_layers: tuple[int, ...] = (),
    ) -> None:
        self.recording = Recording()
        super().__init__(config, source, recordable(ops, self.recording), kv, states, tap_layers)
        self.captured: dict[tuple[int, int], Captured] = {}
        self.sizes: tuple[int, ...] = ()
        self.capture_s = 0.0
        self._used = 0
        """Rows of the last window, padding included."""
        self._padded = 0
        self._uncaptured = 0

    @torch.inference_mode()
    def capture(self, top: int, width: int) -> None:
        """Record windows of `width` positions for every bucket up to `top` rows. The pools must have their final memory."""
        start = time.perf_counter()
        self.sizes = buckets(top)
        for size in reversed(self.sizes):
            self.captured[size, width] = self._record(size, width)
        self.capture_s += time.perf_counter() - start

    def _record(self, size: int, width: int) -> Captured:
        ids, slots = int64_zeros(size, width), torch.full((size,), self.states.padding_slot, dtype=torch.int64)
        batch = _StaticBatch(slots)
        with Tape() as tape:
            self.recording.tape = tape
            try:
                logits, taps = self._forward(ids, batch)
            finally:
                self.recording.tape = None
        return Captured(tape, ids, slots, logits, taps, self._windows)

    def _forward(self, ids: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """`Target.window` without the commit that ends a plain step: committing reads values."""
        commit, self.commit = self.commit, lambda batch, correct: None
        try:
            return super().window(ids, batch)
        finally:
            self.commit = commit

    def bucket(self, rows: int, width: int) -> int | None:
        """Rows that a window of `rows` runs with; None where nothing is captured for it."""
        at = bisect_left(self.sizes, rows)
        return self.sizes[at] if at < len(self.sizes) and (self.sizes[at], width) in self.captured else None

    def window(self, ids: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        b, width = ids.shape
        size = self.bucket(b, width)
        if size is None:
            self._used = b
            self._uncaptured += 1
            return super().window(ids, batch)
        graph = self.captured[size, width]
        graph.ids[:b].copy_(ids)
        graph.slots[:b].copy_(batch.slots)
        graph.slots[b:].fill_(self.states.padding_slot)
        self.recording.batch = batch
        graph.tape.replay()
        self._windows, self._used = graph.windows, size
        self._padded += (size - b) * width
        # the next replay overwrites the static ends
        logits = graph.logits[:b].clone()
        taps = graph.taps[:b].clone() if graph.taps is not None else None
        if width == 1:
            self.commit(batch, torch.zeros(b, dtype=torch.int64))
        return logits, taps

    def commit(self, batch: Batch, correct: Tensor) -> None:
        width, b = self._windows.shape[1], batch.rows
        if width > 1:
            snapshots = self.states.snapshots(self._used, width)[:, :, :b]
            self.ops.state_commit(self.states.temporal, snapshots, batch.slots, correct)
        self.ops.state_commit(self.states.conv, self._windows[:, :, :b], batch.slots, correct)

    # facts

    def padded_positions(self, rows: int, width: int) -> int:
        size = self.bucket(rows, width)
        return (size - rows) * width if size else 0

    def take_padded(self) -> int:
        padded, self._padded = self._padded, 0
        return padded

    @property
    def graph_bytes(self) -> int:
        return sum(graph.tape.arena.bytes for graph in self.captured.values())

    def mode_facts(self) -> dict:
        return {
            "cuda_graph_max_bs": self.sizes[-1] if self.sizes else 0,
            "graph_buckets": list(self.sizes),
            "graph_widths": sorted({width for _, width in self.captured}),
            "graph_bytes": self.graph_bytes,
            "graph_nodes": max((len(graph.tape.nodes) for graph in self.captured.values()), default=0),
            "graph_capture_s": self.capture_s,
            "graph_uncaptured_windows": self._uncaptured,
        }


@dataclass
class _StaticBatch:
    """Stands in for a batch while recording; whatever depends on the real one is read at replay."""

    slots: Tensor
    block_table: None = None
    lengths: None = None
    window_slots: None = None
    page_size: int = 0

    @property
    def rows(self) -> int:
        return self.slots.shape[0]
