"""Paged key/value cache of the full-attention layers and of the drafter, with a real capacity."""

from __future__ import annotations

import numpy as np
import torch

from engine.memory.storage import renew


class PageAllocator:
    """Which pages are free. Pages are handed out as tokens arrive.

    Consecutive pages are preferred: attention reads such a run as one view instead of gathering it. So a request
    says how many pages it may want later, and these are left to it as long as others find room elsewhere.
    """

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self._free = np.ones(pages, dtype=bool)
        self._claimed = np.zeros(pages, dtype=bool)
        self._claims: dict[object, slice] = {}
        self.free_count = pages

    @property
    def used_count(self) -> int:
        return self.pages - self.free_count

    def allocate(self, count: int, room: int = 0, owner: object = None) -> list[int] | None:
        """`count` page ids, or None when fewer are free. The lowest run that fits, else the lowest pages.

        `room` pages after a run are claimed for `owner`, where there is such a run: a wish, not a reservation.
        """
        if count > self.free_count:
            return None
        loose = self._free & ~self._claimed
        if room and owner is not None and (start := _run(loose, count + room)) is not None:
            chosen = np.arange(start, start + count)
            self._claims[owner] = slice(start + count, start + count + room)
            self._claimed[self._claims[owner]] = True
        elif (start := _run(loose, count)) is not None or (start := _run(self._free, count)) is not None:
            chosen = np.arange(start, start + count)
        else:
            chosen = np.concatenate([np.flatnonzero(loose), np.flatnonzero(self._free & self._claimed)])[:count]
        return self._take(chosen)

    def extend(self, last: int, count: int) -> list[int] | None:
        """`count` more pages for a request whose last page is `last`: those that follow it where they are free."""
        if self._free[last + 1 : last + 1 + count].sum() == count:
            return self._take(np.arange(last + 1, last + 1 + count))
        return self.allocate(count)

    def unclaim(self, owner: object) -> None:
        """The owner wants no more pages."""
        claim = self._claims.pop(owner, None)
        if claim is not None:
            self._claimed[claim] = False

    def _take(self, chosen: np.ndarray) -> list[int]:
        self._free[chosen] = False
        self.free_count -= len(chosen)
        return chosen.tolist()

    def release(self, pages: list[int]) -> None:
        """Give pages back; a page that is already free is a fault of the caller."""
        if self._free[pages].any() or len(set(pages)) != len(pages):
            raise RuntimeError(f"KV pages {pages} released twice")
        self._free[pages] = True
        self.free_count += len(pages)


def _run(mask: np.ndarray, count: int) -> int | None:
    """First index of the lowest run of `count` true entries."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False])).astype(np.int8)))
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
