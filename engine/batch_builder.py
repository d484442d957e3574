"""Sequences to a batch: the tensors of their rows, and what changes of them with every step."""

from __future__ import annotations

from collections.abc import Sequence as Rows

import torch
from torch import Tensor

from engine.batch import Batch, int64, token_slots
from engine.sequence import Sequence


class BatchBuilder:
    """`width`: positions of a window, 1 in the plain lane; `seed`: noise of requests that bring none."""

    def __init__(self, page_size: int, width: int, seed: int) -> None:
        self.page_size, self.width, self.seed = page_size, width, seed

    def build(self, sequences: Rows[Sequence]) -> Batch:
        """Tensors of the rows; everything but anchors, lengths and token slots lives until membership changes."""
        sampling = [s.request.sampling for s in sequences]
        greedy = [p.greedy for p in sampling]
        return Batch(
            slots=int64([s.slot for s in sequences]),
            block_table=block_table(sequences),
            page_size=self.page_size,
            # top_k 1 is greedy whatever the temperature, so the drafter must not sample for it either
            temperature=torch.tensor([0.0 if g else p.temperature for g, p in zip(greedy, sampling)]),
            top_k=int64([p.top_k for p in sampling]),
            top_p=torch.tensor([p.top_p for p in sampling]),
            min_p=torch.tensor([p.min_p for p in sampling]),
            seeds=int64([self.seed if p.seed is None else p.seed for p in sampling]),
            greedy=torch.tensor(greedy),
            any_sampled=not all(greedy),
            any_truncated=any(not g and (p.top_k > 0 or p.top_p < 1.0 or p.min_p > 0.0) for g, p in zip(greedy, sampling)),
            traced=any(s.request.trace for s in sequences),
            histories=tuple(sequences),
            **self._position(sequences),
        )

    def move(self, batch: Batch, sequences: Rows[Sequence], grown: bool) -> None:
        """Bring the batch of the same sequences up to their newest tokens; `grown`: some got more pages."""
        if grown:
            batch.block_table = block_table(sequences)
        for name, value in self._position(sequences).items():
            setattr(batch, name, value)

    def _position(self, sequences: Rows[Sequence]) -> dict[str, Tensor]:
        slots = [token_slots(s.pages, s.length - 1, self.width + 1, self.page_size) for s in sequences]
        return {
            "anchors": int64([s.anchor for s in sequences]),
            "lengths": int64([s.length for s in sequences]),
            "window_slots": int64([slot for row in slots for slot in row[1:]]),
            "previous_slots": int64([row[0] for row in slots]),
        }


def block_table(sequences: Rows[Sequence]) -> Tensor:
    """[b, P] page ids of each row, padded with 0."""
    pages = max(len(s.pages) for s in sequences)
    return int64([s.pages + [0] * (pages - len(s.pages)) for s in sequences])
