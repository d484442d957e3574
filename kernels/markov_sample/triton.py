"""Sampling Markov step: one kernel for the logits, which acceptance needs anyway, then the Gumbel tiles.

Noise beside the matrix product would be made once for every lane that shares a row of the product, sixteen times over.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.gumbel_sample.triton import VARIANTS as GUMBEL_VARIANTS
from kernels.gumbel_sample.triton import gumbel_sample
from kernels.markov_greedy.reference import check_step
from kernels.markov_greedy.triton import BLOCK_V, matrix, tile_logits
from kernels.markov_sample.reference import CONTRACT

WARPS = 4


@triton.jit
def _markov_logits(base, prev, w1, w2, logits_out, V, R, BLOCK_V: tl.constexpr, BLOCK_R: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    ids = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    logits = tile_logits(base, prev, w1, w2, row, ids, ids < V, V, R, BLOCK_R)
    tl.store(logits_out + row * V + ids, logits, mask=ids < V)


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
    sizes = check_step(CONTRACT, w2, base=base, prev=prev, w1=w1, temperature=temperature, seeds=seeds, positions=positions)
    rows, vocabulary, rank = sizes["B"], sizes["V"], sizes["r"]
    logits = torch.empty(rows, vocabulary, device=base.device)
    if rows:
        _markov_logits[(rows, triton.cdiv(vocabulary, BLOCK_V))](
            base.contiguous(),
            prev,
            w1.contiguous(),
            w2.contiguous(),
            logits,
            vocabulary,
            rank,
            BLOCK_V=BLOCK_V,
            BLOCK_R=triton.next_power_of_2(rank),
            num_warps=WARPS,
        )
    return gumbel_sample(logits, temperature, seeds, positions, stream), logits


VARIANTS = [
    variant(
        _markov_logits,
        WARPS,
        base="*fp32",
        prev="*i64",
        w1="*bf16",
        w2="*bf16",
        logits_out="*fp32",
        V="i32",
        R="i32",
        BLOCK_V=BLOCK_V,
        BLOCK_R=64,
    ),
    *GUMBEL_VARIANTS,
]
