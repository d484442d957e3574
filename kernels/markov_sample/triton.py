"""Sampling Markov step: bias, noise and argmax of a tile in one kernel; the logits are kept for acceptance."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.gumbel_sample.reference import CONTRACT as NOISE
from kernels.gumbel_sample.triton import perturb
from kernels.markov_greedy.reference import CONTRACT
from kernels.markov_greedy.triton import BLOCK_V, matrix, tile_logits
from kernels.row_argmax.triton import merge, tile_best

WARPS = 4


@triton.jit
def _markov_sample(
    base,
    prev,
    w1,
    w2,
    temperature,
    seeds,
    positions,
    logits_out,
    best,
    best_id,
    stream,
    V,
    R,
    TILES,
    BLOCK_V: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    ids = tile * BLOCK_V + tl.arange(0, BLOCK_V)
    logits = tile_logits(base, prev, w1, w2, row, ids, ids < V, V, R, BLOCK_R)
    tl.store(logits_out + row * V + ids, logits, mask=ids < V)
    position = tl.load(positions + row).to(tl.int32)
    drawn = perturb(logits, tl.load(temperature + row), tl.load(seeds + row), position, stream, ids)
    largest, winner = tile_best(drawn, ids, ids < V)
    tl.store(best + row * TILES + tile, largest)
    tl.store(best_id + row * TILES + tile, winner)


def markov_sample(
    base: torch.Tensor,
    prev: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor | Callable[[torch.Tensor], torch.Tensor],
    temperature: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    stream: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; a projection's matrix is read directly and its output not rounded."""
    w2 = matrix(w2)
    sizes = CONTRACT.check(base=base, prev=prev, w1=w1, w2=w2)
    NOISE.check(logits=base, temperature=temperature, seeds=seeds, positions=positions)
    rows, vocabulary, rank = sizes["B"], sizes["V"], sizes["r"]
    tiles = triton.cdiv(vocabulary, BLOCK_V)
    logits = torch.empty(rows, vocabulary, device=base.device)
    best = torch.empty(rows, tiles, device=base.device)
    best_id = torch.empty(rows, tiles, dtype=torch.int32, device=base.device)
    if rows:
        _markov_sample[(rows, tiles)](
            base.contiguous(),
            prev,
            w1.contiguous(),
            w2.contiguous(),
            temperature,
            seeds,
            positions,
            logits,
            best,
            best_id,
            stream,
            vocabulary,
            rank,
            tiles,
            BLOCK_V=BLOCK_V,
            BLOCK_R=triton.next_power_of_2(rank),
            num_warps=WARPS,
        )
    return merge(best, best_id), logits


VARIANTS = [
    variant(
        _markov_sample,
        WARPS,
        base="*fp32",
        prev="*i64",
        w1="*bf16",
        w2="*bf16",
        temperature="*fp32",
        seeds="*i64",
        positions="*i64",
        logits_out="*fp32",
        best="*fp32",
        best_id="*i32",
        stream="i32",
        V="i32",
        R="i32",
        TILES="i32",
        BLOCK_V=BLOCK_V,
        BLOCK_R=64,
    )
]
