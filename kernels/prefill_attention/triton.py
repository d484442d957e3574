"""Prefill attention on matrix units: 16 queries on absolute multiples of 16, online softmax over blocks of keys."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.decode_attention.reference import check_length, check_paging
from kernels.decode_attention.triton import load_tile, token_offsets
from kernels.environment import interpret
from kernels.prefill_attention.reference import CONTRACT

WARPS = 4
PRECISION = "bf16x6"
"""As in `kda_prefill`: float32 accuracy on the matrix units of both vendors."""
BLOCK_M = 16
BLOCK_N = 16


@triton.jit
def fold(largest, total, mixed, score, value, PRECISION: tl.constexpr):
    """One step of the online softmax of several queries: scores [M, N] and values [N, D] join what was seen before."""
    new_largest = tl.maximum(largest, tl.max(score, axis=1))
    weight = tl.exp(score - new_largest[:, None])
    fade = tl.exp(largest - new_largest)
    total = total * fade + tl.sum(weight, axis=1)
    mixed = mixed * fade[:, None] + tl.dot(weight, value, input_precision=PRECISION)
    return new_largest, total, mixed


@triton.jit
def _prefill_attention(
    q,
    k_cache,
    v_cache,
    block_table,
    o,
    scale,
    START,
    T,
    HQ,
    HKV,
    D,
    PAGE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    PRECISION: tl.constexpr,
):
    first = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    kv_head = head // (HQ // HKV)
    dim = tl.arange(0, BLOCK_D)
    inside = dim < D
    local = first + tl.arange(0, BLOCK_M)
    row = (local.to(tl.int64)[:, None] * HQ + head) * D + dim[None, :]
    mask_q = (local < T)[:, None] & inside[None, :]
    query = tl.load(q + row, mask=mask_q, other=0.0) * scale
    position = START + local
    end = tl.minimum(START + first + BLOCK_M, START + T)
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    mixed = tl.zeros((BLOCK_M, BLOCK_D), dtype=tl.float32)
    for start in range(0, end, BLOCK_N):
        token = start + tl.arange(0, BLOCK_N)
        live = token < end
        at = token_offsets(block_table, token, live, kv_head, HKV, D, PAGE)
        both = live[:, None] & inside[None, :]
        key = load_tile(k_cache, at, dim, both)
        value = load_tile(v_cache, at, dim, both)
        score = tl.dot(query, tl.trans(key), input_precision=PRECISION)
        # A padded query row sees key 0 at least, so no row is empty and no NaN arises.
        score = tl.where((token[None, :] <= position[:, None]) & live[None, :], score, -float("inf"))
        largest, total, mixed = fold(largest, total, mixed, score, value, PRECISION)
    tl.store(o + row, mixed / total[:, None], mask=mask_q)


def prefill_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    start: int,
    *,
    page_size: int,
    scale: float,
) -> torch.Tensor:
    """Same semantics as the reference; `start` must be a multiple of 16 (ValueError otherwise)."""
    sizes = CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table)
    tokens, query_heads, dim = sizes["T"], sizes["Hq"], sizes["D"]
    check_paging("prefill_attention", query_heads, k_cache, block_table, page_size)
    check_length("prefill_attention", 0, start + tokens, block_table, page_size)
    if start % BLOCK_M:
        raise ValueError(f"prefill_attention: start = {start}, expected a multiple of {BLOCK_M} for q {list(q.shape)}")
    o = torch.empty(tokens, query_heads, dim, device=q.device)
    if tokens:
        _prefill_attention[(triton.cdiv(tokens, BLOCK_M), query_heads)](
            q.contiguous(),
            k_cache.contiguous(),
            v_cache.contiguous(),
            block_table,
            o,
            scale,
            start,
            tokens,
            query_heads,
            k_cache.shape[1],
            dim,
            PAGE=page_size,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
            BLOCK_D=max(16, triton.next_power_of_2(dim)),
            PRECISION="ieee" if interpret() else PRECISION,
            num_warps=WARPS,
        )
    return o


VARIANTS = [
    variant(
        _prefill_attention,
        WARPS,
        q="*fp32",
        k_cache="*bf16",
        v_cache="*bf16",
        block_table="*i64",
        o="*fp32",
        scale="fp32",
        START="i32",
        T="i32",
        HQ="i32",
        HKV="i32",
        D="i32",
        PAGE=16,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_D=64,
        PRECISION=PRECISION,
    )
]
