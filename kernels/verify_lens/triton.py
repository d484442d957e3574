"""Length scheduler, one program a request: it ranks its drafts against those of every other request.

Ranks replace a sort: a draft is admitted if fewer than budget - B others come before it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.contract import check_block_size
from kernels.verify_lens.reference import CONTRACT

BLOCK_G = 16


@triton.jit
def survival(confidence, request, G, BLOCK_G: tl.constexpr):
    """Products of the confidences of drafts 0..j, multiplied in order; -1 beyond γ."""
    position = tl.arange(0, BLOCK_G)
    alive = tl.full((BLOCK_G,), -1.0, dtype=tl.float32)
    product = 1.0
    for j in range(G):
        product = product * tl.load(confidence + request * G + j)
        alive = tl.where(position == j, product, alive)
    return alive


@triton.jit
def _verify_lens(confidence, lengths, B, G, budget, min_len, eps, BLOCK_G: tl.constexpr):
    request = tl.program_id(0)
    position = tl.arange(0, BLOCK_G)
    own = survival(confidence, request, G, BLOCK_G)
    rank = tl.zeros((BLOCK_G,), dtype=tl.int32)
    for other in range(B):
        rival = survival(confidence, other, G, BLOCK_G)
        higher = rival[None, :] > own[:, None]
        equal = rival[None, :] == own[:, None]
        lower_position = position[None, :] < position[:, None]
        same_position = (position[None, :] == position[:, None]) & (other < request)
        before = higher | (equal & (lower_position | same_position))
        rank += tl.sum((before & (rival >= eps)[None, :]).to(tl.int32), axis=1)
    admitted = (own >= eps) & (position < G) & (rank < budget - B)
    length = 1 + tl.sum(admitted.to(tl.int32), axis=0)
    tl.store(lengths + request, tl.minimum(tl.maximum(length, min_len), G + 1).to(tl.int64))


def verify_lens(confidence: torch.Tensor, budget: int, min_len: int = 1, eps: float = 1e-6) -> torch.Tensor:
    """Same semantics as the reference."""
    sizes = CONTRACT.check(confidence=confidence)
    batch, block = sizes["B"], sizes["G"]
    check_block_size("verify_lens", block)
    if not 1 <= min_len <= block + 1:
        raise ValueError(f"verify_lens: min_len = {min_len}, expected 1..{block + 1} for confidence {list(confidence.shape)}")
    if budget < 0:
        raise ValueError(f"verify_lens: budget = {budget} positions, expected >= 0 for confidence {list(confidence.shape)}")
    lengths = torch.empty(batch, dtype=torch.int64, device=confidence.device)
    if batch:
        _verify_lens[(batch,)](
            confidence.contiguous(), lengths, batch, block, budget, min_len, max(eps, 0.0), BLOCK_G=BLOCK_G, num_warps=1
        )
    return lengths


VARIANTS = [
    variant(
        _verify_lens,
        1,
        confidence="*fp32",
        lengths="*i64",
        B="i32",
        G="i32",
        budget="i32",
        min_len="i32",
        eps="fp32",
        BLOCK_G=BLOCK_G,
    )
]
