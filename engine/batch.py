"""The running requests as tensors: what a target or drafter forward needs to know about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor


class History(Protocol):
    """The tokens of one request so far."""

    def tokens(self) -> np.ndarray:
        """Prompt and emitted tokens, int64 [n]; the last one is the anchor."""


@dataclass
class Batch:
    """Rows of one step. Order of rows has no meaning: no result depends on it.

    `rows` = b requests; everything but `anchors`, `lengths` and `window_slots` changes only when
    membership does.
    """

    slots: Tensor
    """[b] int64, state slot of each request."""
    block_table: Tensor
    """[b, P] int64 page ids, padded with 0."""
    page_size: int
    temperature: Tensor
    """[b] float32, 0 for a greedy row."""
    top_k: Tensor
    """[b] int64, 0 keeps the vocabulary."""
    top_p: Tensor
    """[b] float32."""
    min_p: Tensor
    """[b] float32, 0 keeps all."""
    seeds: Tensor
    """[b] int64, the requests' own seeds."""
    greedy: Tensor
    """[b] bool."""
    any_sampled: bool
    any_truncated: bool
    """Some row has top_k, top_p or min_p."""
    traced: bool
    """Some row wants its probabilities recorded."""
    anchors: Tensor
    """[b] int64, last emitted token of each row: emitted, not yet run through the target."""
    lengths: Tensor
    """[b] int64, committed tokens in state and KV; the anchor's position."""
    window_slots: Tensor
    """[b * W] int64, KV token slots of positions lengths .. lengths + W - 1."""
    previous_slots: Tensor
    """[b] int64, KV token slot of position lengths - 1."""
    histories: Sequence[History] = ()
    """One a row; read by lanes that draft from the text itself."""

    @property
    def rows(self) -> int:
        return self.slots.shape[0]

    @property
    def truncated(self) -> Tensor:
        """[b] bool, sampled rows whose law is not the whole softmax."""
        return ~self.greedy & ((self.top_k > 0) | (self.top_p < 1.0) | (self.min_p > 0.0))

    def take(self, rows: Tensor, width: int) -> Batch:
        """The batch of some rows [n] with windows of `width` positions, no wider than the batch's own."""
        mine = {name: getattr(self, name)[rows] for name in PER_ROW}
        return replace(
            self,
            **mine,
            any_sampled=not bool(mine["greedy"].all()),
            any_truncated=self.any_truncated and bool(self.truncated[rows].any()),
            window_slots=self.window_slots.view(self.rows, -1)[rows, :width].reshape(-1),
            histories=tuple(self.histories[row] for row in rows.tolist()) if self.histories else (),
        )


PER_ROW = ("slots", "block_table", "temperature", "top_k", "top_p", "min_p", "seeds", "greedy", "anchors", "lengths", "previous_slots")


def token_slots(pages: list[int], start: int, count: int, page_size: int) -> list[int]:
    """KV token slots of positions start .. start + count - 1 of a request that owns `pages`."""
    return [pages[p // page_size] * page_size + p % page_size for p in range(start, start + count)]


def int64(values) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)
