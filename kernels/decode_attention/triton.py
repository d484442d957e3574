"""Paged attention, one program a (request, position) and query head, online softmax over blocks of keys.

The number of blocks follows from the position's own length, so a verify window and decode steps run the same
arithmetic, and neither the batch nor the window shows in the bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import Variant, variant
from kernels.decode_attention.reference import CONTRACT, check_paging

WARPS = 4
BLOCK_N = 32


@triton.jit
def token_offsets(block_table, token, live, kv_head, HKV, D, PAGE: tl.constexpr):
    """Where the rows of some tokens of a request start in a pool [S, Hkv, D]; block_table points at its first page."""
    page = tl.load(block_table + token // PAGE, mask=live, other=0)
    return ((page * PAGE + token % PAGE) * HKV + kv_head) * D


@triton.jit
def load_tile(cache, at, dim, mask):
    """Rows [BLOCK_N, BLOCK_D] of a pool in float32."""
    return tl.load(cache + at[:, None] + dim[None, :], mask=mask, other=0.0).to(tl.float32)


@triton.jit
def paged_attention(
    q,
    k_cache,
    v_cache,
    block_table,
    lengths,
    o,
    scale,
    W,
    HQ,
    HKV,
    D,
    P,
    FIRST,
    PAGE: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Position t of request b sees lengths[b] + FIRST + t tokens (FIRST = 0 for decode, 1 for a window)."""
    request = (tl.program_id(0) // W).to(tl.int64)
    t = tl.program_id(0) % W
    head = tl.program_id(1)
    kv_head = head // (HQ // HKV)
    dim = tl.arange(0, BLOCK_D)
    inside = dim < D
    row = ((request * W + t) * HQ + head) * D
    query = tl.load(q + row + dim, mask=inside, other=0.0) * scale
    seen = tl.load(lengths + request) + FIRST + t
    largest = -float("inf")
    total = 0.0
    mixed = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for start in range(0, seen, BLOCK_N):
        token = start + tl.arange(0, BLOCK_N)
        live = token < seen
        at = token_offsets(block_table + request * P, token, live, kv_head, HKV, D, PAGE)
        both = live[:, None] & inside[None, :]
        key = load_tile(k_cache, at, dim, both)
        score = tl.where(live, tl.sum(key * query[None, :], axis=1), -float("inf"))
        new_largest = tl.maximum(largest, tl.max(score, axis=0))
        weight = tl.exp(score - new_largest)
        fade = tl.exp(largest - new_largest)
        value = load_tile(v_cache, at, dim, both)
        total = total * fade + tl.sum(weight, axis=0)
        mixed = mixed * fade + tl.sum(weight[:, None] * value, axis=0)
        largest = new_largest
    tl.store(o + row + dim, mixed / total, mask=inside)


def launch(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    page_size: int,
    scale: float,
    first: int,
) -> torch.Tensor:
    """q [B, W, Hq, D] -> [B, W, Hq, D]."""
    batch, window, query_heads, dim = q.shape
    o = torch.empty(batch, window, query_heads, dim, device=q.device)
    if batch and window:
        paged_attention[(batch * window, query_heads)](
            q.contiguous(),
            k_cache.contiguous(),
            v_cache.contiguous(),
            block_table.contiguous(),
            lengths,
            o,
            scale,
            window,
            query_heads,
            k_cache.shape[1],
            dim,
            block_table.shape[1],
            first,
            PAGE=page_size,
            BLOCK_N=BLOCK_N,
            BLOCK_D=triton.next_power_of_2(dim),
            num_warps=WARPS,
        )
    return o


def decode_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    *,
    page_size: int,
    scale: float,
) -> torch.Tensor:
    """Same semantics as the reference; lengths are trusted, checking them would wait for the device."""
    sizes = CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    check_paging("decode_attention", sizes["Hq"], k_cache, block_table, page_size)
    return launch(q.unsqueeze(1), k_cache, v_cache, block_table, lengths, page_size, scale, 0).squeeze(1)


def attention_variant(window: int | str, first: int) -> Variant:
    """Bfloat16 pool, heads of 64, for decode (window 1) or a window of any size."""
    return variant(
        paged_attention,
        WARPS,
        q="*fp32",
        k_cache="*bf16",
        v_cache="*bf16",
        block_table="*i64",
        lengths="*i64",
        o="*fp32",
        scale="fp32",
        W=window,
        HQ="i32",
        HKV="i32",
        D="i32",
        P="i32",
        FIRST=first,
        PAGE=16,
        BLOCK_N=BLOCK_N,
        BLOCK_D=64,
    )


VARIANTS = [attention_variant(1, 0)]
