"""Argmax of rows in two stages: tiles of the vocabulary side by side, then one program a row merges them."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.row_argmax.reference import check_rows

WARPS = 4
BLOCK = 1024


@triton.jit
def tile_best(value, ids, inside):
    """Largest value of a tile and its lowest id; NaN counts as -inf."""
    clean = tl.where((value == value) & inside, value, -float("inf"))  # noqa: PLR0124 (NaN differs from itself)
    largest = tl.max(clean, axis=0)
    winner = tl.min(tl.where((clean == largest) & inside, ids, 2147483647), axis=0)
    return largest, winner


@triton.jit
def _tile_argmax(logits, best, best_id, V, TILES, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    ids = tile * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(logits + row * V + ids, mask=ids < V, other=-float("inf")).to(tl.float32)
    largest, winner = tile_best(value, ids, ids < V)
    tl.store(best + row * TILES + tile, largest)
    tl.store(best_id + row * TILES + tile, winner)


@triton.jit
def _merge_argmax(best, best_id, out, TILES, BLOCK_T: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.arange(0, BLOCK_T)
    inside = tile < TILES
    value = tl.load(best + row * TILES + tile, mask=inside, other=-float("inf"))
    ids = tl.load(best_id + row * TILES + tile, mask=inside, other=2147483647)
    largest = tl.max(value, axis=0)
    tl.store(out + row, tl.min(tl.where(value == largest, ids, 2147483647), axis=0).to(tl.int64))


def merge(best: torch.Tensor, best_id: torch.Tensor) -> torch.Tensor:
    """Tile winners [R, TILES] -> ids [R] int64."""
    rows, tiles = best.shape
    out = torch.empty(rows, dtype=torch.int64, device=best.device)
    if rows:
        _merge_argmax[(rows,)](best, best_id, out, tiles, BLOCK_T=triton.next_power_of_2(tiles), num_warps=1)
    return out


def row_argmax(logits: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference."""
    vocabulary = check_rows(logits)
    logits = logits.contiguous()
    rows = logits.numel() // vocabulary
    tiles = triton.cdiv(vocabulary, BLOCK)
    best = torch.empty(rows, tiles, device=logits.device)
    best_id = torch.empty(rows, tiles, dtype=torch.int32, device=logits.device)
    if rows:
        _tile_argmax[(rows, tiles)](logits, best, best_id, vocabulary, tiles, BLOCK=BLOCK, num_warps=WARPS)
    return merge(best, best_id).view(logits.shape[:-1])


VARIANTS = [
    variant(_tile_argmax, WARPS, logits="*fp32", best="*fp32", best_id="*i32", V="i32", TILES="i32", BLOCK=BLOCK),
    variant(_merge_argmax, 1, best="*fp32", best_id="*i32", out="*i64", TILES="i32", BLOCK_T=128),
]
