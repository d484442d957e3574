"""Paged key/value cache of the full-attention layers and of the drafter, with a real capacity."""

from __future__ import annotations

import numpy as np
import torch

from engine.memory.storage import renew


class PageAllocator:
    """Which pages are free. A request gets its whole life's pages at admission.

    Consecutive pages are preferred: attention reads such a run as one view instead of gathering it.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self._free = np.ones(pages, dtype=bool)
        self.free_count = pages

    @property
    def used_count(self) -> int:
        return self.pages - self.free_count

    def allocate(self, count: int) -> list[int] | None:
        """`count` page ids, or None when fewer are free. The lowest run that fits, else the lowest pages."""
        if count > self.free_count:
            return None
        start = self._run(count)
        chosen = np.arange(start, start + count) if start is not None else np.flatnonzero(self._free)[:count]
        self._free[chosen] = False
        self.free_count -= count
        return chosen.tolist()

    def release(self, pages: list[int]) -> None:
        """Give pages back; a page that is already free is a fault of the caller."""
        if self._free[pages].any() or len(set(pages)) != len(pages):
            raise RuntimeError(f"KV pages {pages} released twice")
        self._free[pages] = True
        self.free_count += len(pages)

    def _run(self, count: int) -> int | None:
        """First page of the lowest run of `count` free pages."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], self._free, [False])).astype(np.int8)))
        starts, ends = edges[::2], edges[1::2]
        fitting = np.flatnonzero(ends - starts >= count)
        return int(starts[fitting[0]]) if fitting.size else None


class KvPool:
    """Keys and values [tokens, kv heads, head dim] float32 of each attention layer, flat in token slots.

    A drafter's layers share the token slots of the target's: slot t of every layer belongs to the same
    position of the same request. Zeroed at boot, so that every slot is finite before it is written:
    attention multiplies masked rows by zero, and zero times NaN is not zero.
    """

    def __init__(self, layers: int, tokens: int, page_size: int, kv_heads: int, head_dim: int) -> None:
        """`tokens` is rounded down to whole pages."""
        self.page_size = page_size
        self._row = (kv_heads, head_dim)
        self.keys = [torch.empty(0) for _ in range(layers)]
        self.values = [torch.empty(0) for _ in range(layers)]
        self.carve(tokens)

    def carve(self, tokens: int) -> None:
        """Give the pool its memory, touched; whoever holds its tensors sees the new storage. Contents are lost."""
        self.allocator = PageAllocator(tokens // self.page_size)
        self.tokens = self.allocator.pages * self.page_size
        for cache in (*self.keys, *self.values):
            renew(cache, (self.tokens, *self._row))

    def pages_for(self, tokens: int) -> int:
        return -(-tokens // self.page_size)

    @property
    def usage(self) -> float:
        """Share of pages that belong to a request."""
        return self.allocator.used_count / self.allocator.pages

    @property
    def bytes_per_token(self) -> int:
        return sum(t[0].numel() * t.element_size() for t in (*self.keys, *self.values))

    @property
    def bytes(self) -> int:
        return self.bytes_per_token * self.tokens

    def scrub(self, pages: list[int]) -> None:
        """Zero the pages of a request whose numbers went non-finite, before another request gets them."""
        for page in pages:
            rows = slice(page * self.page_size, (page + 1) * self.page_size)
            for cache in (*self.keys, *self.values):
                cache[rows].zero_()
