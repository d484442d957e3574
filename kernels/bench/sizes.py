"""Problem sizes of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Dimensions shared by all cases; the letters are those of the contracts."""

    name: str
    batch: int
    window: int
    """W = γ + 1."""
    heads: int
    head_dim: int
    """K = V of KDA, D of attention."""
    query_heads: int
    kv_heads: int
    hidden: int
    vocabulary: int
    rank: int
    context: int
    prompt: int
    page_size: int = 16

    @property
    def block(self) -> int:
        return self.window - 1


SIZES = {
    size.name: size
    for size in (
        Size("small", 2, 3, 2, 16, 4, 2, 64, 128, 8, 20, 33),
        Size("model", 1, 4, 4, 64, 4, 2, 256, 4096, 64, 256, 512),
        Size("batch", 8, 4, 4, 64, 4, 2, 256, 4096, 64, 256, 512),
        Size("large", 48, 4, 12, 128, 8, 1, 7168, 163840, 256, 8192, 4096),
    )
}
"""`small` is a smoke test; `model` and `batch` are the shipped model at batch 1 and 8; `large` is one rank of a 2025 hybrid."""
