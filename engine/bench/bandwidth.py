"""Read bandwidth of memory as this process sees it: the bound of a step that reads every weight once."""

from __future__ import annotations

import statistics
import time

import torch

BYTES = 1 << 29
PIECE_BYTES = 1 << 24
PASSES = 3


def read_gb_s(size_bytes: int = BYTES, passes: int = PASSES) -> float:
    """GB/s of summing a buffer, on the threads torch has now: the median piece of the buffer, each at the best of its passes.

    A piece takes about a millisecond, so that a busy machine does not interrupt each of its passes. The default buffer is past
    most last-level caches; a larger cache would be measured in its place.
    """
    pieces = torch.ones(size_bytes // 4).split(PIECE_BYTES // 4)
    best = [float("inf")] * len(pieces)
    for _ in range(passes):
        for i, piece in enumerate(pieces):
            start = time.perf_counter()
            piece.sum()
            best[i] = min(best[i], time.perf_counter() - start)
    return PIECE_BYTES / statistics.median(best) / 1e9
