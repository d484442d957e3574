"""Draft attention: the block's own keys first, then the context, one online softmax."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.block_attention.reference import CONTRACT
from kernels.contract import check_block_size
from kernels.decode_attention.reference import check_paging
from kernels.decode_attention.triton import load_tile, token_offsets
from kernels.environment import interpret
from kernels.prefill_attention.triton import BLOCK_N, PRECISION, WARPS, fold

BLOCK_G = 16


@triton.jit
def _block_attention(
    q,
    k_block,
    v_block,
    k_cache,
    v_cache,
    block_table,
    lengths,
    o,
    scale,
    G,
    HQ,
    HKV,
    D,
    P,
    PAGE: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,
    PRECISION: tl.constexpr,
):
    request = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    kv_head = head // (HQ // HKV)
    dim = tl.arange(0, BLOCK_D)
    inside = dim < D
    member = tl.arange(0, BLOCK_G)
    mask_g = (member < G)[:, None] & inside[None, :]
    row = ((request * G + member[:, None]) * HQ + head) * D + dim[None, :]
    own = ((request * G + member[:, None]) * HKV + kv_head) * D + dim[None, :]
    query = tl.load(q + row, mask=mask_g, other=0.0) * scale
    own_key = tl.load(k_block + own, mask=mask_g, other=0.0)
    own_value = tl.load(v_block + own, mask=mask_g, other=0.0)
    own_score = tl.dot(query, tl.trans(own_key), input_precision=PRECISION)
    own_score = tl.where((member < G)[None, :], own_score, -float("inf"))
    largest = tl.max(own_score, axis=1)
    own_weight = tl.exp(own_score - largest[:, None])
    total = tl.sum(own_weight, axis=1)
    mixed = tl.dot(own_weight, own_value, input_precision=PRECISION)
    length = tl.load(lengths + request)
    for start in range(0, length, BLOCK_N):
        token = start + tl.arange(0, BLOCK_N)
        live = token < length
        at = token_offsets(block_table + request * P, token, live, kv_head, HKV, D, PAGE)
        both = live[:, None] & inside[None, :]
        key = load_tile(k_cache, at, dim, both)
        value = load_tile(v_cache, at, dim, both)
        score = tl.where(live[None, :], tl.dot(query, tl.trans(key), input_precision=PRECISION), -float("inf"))
        largest, total, mixed = fold(largest, total, mixed, score, value, PRECISION)
    tl.store(o + row, mixed / total[:, None], mask=mask_g)


def block_attention(
    q: torch.Tensor,
    k_block: torch.Tensor,
    v_block: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    *,
    page_size: int,
    scale: float,
) -> torch.Tensor:
    """Same semantics as the reference; lengths are trusted, checking them would wait for the device."""
    sizes = CONTRACT.check(
        q=q, k_block=k_block, v_block=v_block, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths
    )
    batch, block, query_heads, dim = q.shape
    check_block_size("block_attention", block)
    check_paging("block_attention", sizes["Hq"], k_cache, block_table, page_size)
    o = torch.empty(batch, block, query_heads, dim, device=q.device)
    if batch:
        _block_attention[(batch, query_heads)](
            q.contiguous(),
            k_block.contiguous(),
            v_block.contiguous(),
            k_cache.contiguous(),
            v_cache.contiguous(),
            block_table.contiguous(),
            lengths,
            o,
            scale,
            block,
            query_heads,
            k_cache.shape[1],
            dim,
            block_table.shape[1],
            PAGE=page_size,
            BLOCK_G=BLOCK_G,
            BLOCK_N=BLOCK_N,
            BLOCK_D=max(16, triton.next_power_of_2(dim)),
            PRECISION="ieee" if interpret() else PRECISION,
            num_warps=WARPS,
        )
    return o


VARIANTS = [
    variant(
        _block_attention,
        WARPS,
        q="*fp32",
        k_block="*fp32",
        v_block="*fp32",
        k_cache="*bf16",
        v_cache="*bf16",
        block_table="*i64",
        lengths="*i64",
        o="*fp32",
        scale="fp32",
        G="i32",
        HQ="i32",
        HKV="i32",
        D="i32",
        P="i32",
        PAGE=16,
        BLOCK_G=BLOCK_G,
        BLOCK_N=BLOCK_N,
        BLOCK_D=64,
        PRECISION=PRECISION,
    )
]
