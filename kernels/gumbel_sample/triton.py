"""Gumbel-max sampling: noise is made in registers beside the logits and never stored."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.gumbel_sample.reference import CONTRACT
from kernels.philox_uniform.triton import uniform
from kernels.row_argmax.triton import BLOCK, merge, tile_best

WARPS = 4


@triton.jit
def perturb(value, heat, seed, position, stream, ids):
    """logits / max(T, 1e-5) + Gumbel noise, or the logits themselves at T = 0."""
    noise = -tl.log(-tl.log(uniform(seed, position, stream, ids)))
    return tl.where(heat == 0.0, value, value / tl.maximum(heat, 1e-5) + noise)


@triton.jit
def _gumbel_tile(logits, temperature, seeds, positions, best, best_id, stream, V, TILES, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    tile = tl.program_id(1)
    ids = tile * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(logits + row * V + ids, mask=ids < V, other=-float("inf")).to(tl.float32)
    heat = tl.load(temperature + row)
    position = tl.load(positions + row).to(tl.int32)
    drawn = perturb(value, heat, tl.load(seeds + row), position, stream, ids)
    largest, winner = tile_best(drawn, ids, ids < V)
    tl.store(best + row * TILES + tile, largest)
    tl.store(best_id + row * TILES + tile, winner)


def gumbel_sample(
    logits: torch.Tensor, temperature: torch.Tensor, seeds: torch.Tensor, positions: torch.Tensor, stream: int
) -> torch.Tensor:
    """Same semantics as the reference; the uniforms are bit-equal, the logarithms agree to rounding."""
    sizes = CONTRACT.check(logits=logits, temperature=temperature, seeds=seeds, positions=positions)
    rows, vocabulary = sizes["B"], sizes["V"]
    tiles = triton.cdiv(vocabulary, BLOCK)
    best = torch.empty(rows, tiles, device=logits.device)
    best_id = torch.empty(rows, tiles, dtype=torch.int32, device=logits.device)
    if rows:
        _gumbel_tile[(rows, tiles)](
            logits.contiguous(), temperature, seeds, positions, best, best_id, stream, vocabulary, tiles, BLOCK=BLOCK, num_warps=WARPS
        )
    return merge(best, best_id)


VARIANTS = [
    variant(
        _gumbel_tile,
        WARPS,
        logits="*fp32",
        temperature="*fp32",
        seeds="*i64",
        positions="*i64",
        best="*fp32",
        best_id="*i32",
        stream="i32",
        V="i32",
        TILES="i32",
        BLOCK=BLOCK,
    )
]
