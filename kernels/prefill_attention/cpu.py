"""Prefill attention in blocks of queries that lie on absolute multiples of the block.

A block's calls have shapes that depend on its absolute position only, so a prompt cut at other multiples of
`QUERY_BLOCK` gives the same bits.
"""

from __future__ import annotations

import torch

from kernels.decode_attention.cpu import token_rows
from kernels.decode_attention.reference import check_length, check_paging
from kernels.prefill_attention.reference import CONTRACT

QUERY_BLOCK = 16


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
    CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table)
    tokens, query_heads, dim = q.shape
    check_paging("prefill_attention", query_heads, k_cache, block_table, page_size)
    check_length("prefill_attention", 0, start + tokens, block_table, page_size)
    if start % QUERY_BLOCK:
        raise ValueError(f"prefill_attention: start = {start}, expected a multiple of {QUERY_BLOCK} for q {list(q.shape)}")
    kv_heads = k_cache.shape[1]
    group = query_heads // kv_heads
    pages = block_table.tolist()
    keys, values = token_rows(k_cache, v_cache, pages, start + tokens, page_size)
    keys, values = keys.permute(1, 2, 0), values.transpose(0, 1)
    queries = (q * scale).view(tokens, kv_heads, group, dim).transpose(0, 1).reshape(kv_heads, tokens * group, dim)
    future = torch.full((QUERY_BLOCK, QUERY_BLOCK), float("-inf")).triu_(1).repeat_interleave(group, 0)
    o = torch.empty(kv_heads, tokens * group, dim)
    for first in range(0, tokens, QUERY_BLOCK):
        size = min(QUERY_BLOCK, tokens - first)
        seen = start + first + size
        rows = slice(first * group, (first + size) * group)
        scores = torch.bmm(queries[:, rows], keys[:, :, :seen])
        scores[:, :, seen - size :].add_(future[: size * group, :size])
        o[:, rows] = torch.bmm(torch.softmax(scores, dim=-1), values[:, :seen])
    return o.view(kv_heads, tokens, group, dim).transpose(0, 1).reshape(tokens, query_heads, dim)
