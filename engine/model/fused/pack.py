"""Weights in the layout that the C++ tiles read."""

from __future__ import annotations

import mmap

import torch
from torch import Tensor

from engine.model.fused.structs import LinearStruct

BLOCK = 64
"""Outputs of one tile, `BLOCK` in `src/linear.h`."""
MARGIN = 8192
"""Bytes after the last weight: the tiles prefetch past their end."""


def pack(weight: Tensor) -> Tensor:
    """[N, K] bfloat16 -> [ceil(N / 64), K / 2, 64, 2] bfloat16, padded with zero outputs.

    ValueError when K is odd. For each pair of inputs the pairs of 64 outputs lie side by side, as one
    bfloat16 dot-product instruction takes them.
    """
    n, k = weight.shape
    if k % 2:
        raise ValueError(f"pack: weight {list(weight.shape)} has an odd number of inputs")
    blocks = -(-n // BLOCK)
    whole = torch.zeros(blocks * BLOCK, k, dtype=torch.bfloat16)
    whole[:n] = weight
    return whole.view(blocks, BLOCK, k // 2, 2).transpose(1, 2)


class Packed:
    """Packed linears of one model in one stretch of memory, in the order they are read; on huge pages where the system gives them."""

    def __init__(self) -> None:
        self.parts: list[tuple[LinearStruct, Tensor]] = []
        self.memory: mmap.mmap | None = None

    def add(self, weight: Tensor) -> LinearStruct:
        """Queue a weight. Copies of the struct made before `place` have no pointer."""
        struct = LinearStruct(None, *weight.shape)
        self.parts.append((struct, weight))
        return struct

    @property
    def bytes(self) -> int:
        return sum(-(-struct.n // BLOCK) * BLOCK * struct.k * 2 for struct, _ in self.parts)

    def place(self) -> None:
        """Pack every queued weight and fill in the structs' pointers."""
        self.memory = mmap.mmap(-1, self.bytes + MARGIN, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            self.memory.madvise(mmap.MADV_HUGEPAGE)
        flat = torch.frombuffer(self.memory, dtype=torch.bfloat16)
        at = 0
        for struct, weight in self.parts:
            packed = pack(weight)
            flat[at : at + packed.numel()].view(packed.shape).copy_(packed)
            struct.w = flat.data_ptr() + 2 * at
            at += packed.numel()
        self.flat = flat
        self.parts = [(struct, weight[:0]) for struct, weight in self.parts]
