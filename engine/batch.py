"""The running requests as tensors: what a target or drafter forward needs to know about its rows."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


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
    seeds: Tensor
    """[b] int64, the requests' own seeds."""
    greedy: Tensor
    """[b] bool."""
    any_sampled: bool
    any_truncated: bool
    """Some row has top_k or top_p."""
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

    @property
    def rows(self) -> int:
        return self.slots.shape[0]


def token_slots(pages: list[int], start: int, count: int, page_size: int) -> list[int]:
    """KV token slots of positions start .. start + count - 1 of a request that owns `pages`."""
    return [pages[p // page_size] * page_size + p % page_size for p in range(start, start + count)]


def int64(values) -> Tensor:
    return torch.tensor(values, dtype=torch.int64)
