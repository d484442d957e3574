"""Verify attention on CPU: the decode calls of each position, sharing one gather of the context."""

from __future__ import annotations

import torch

from kernels.decode_attention.cpu import attend, token_rows
from kernels.decode_attention.reference import check_length, check_paging
from kernels.verify_attention.reference import CONTRACT


def verify_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    lengths: torch.Tensor,
    *,
    page_size: int,
    scale: float,
) -> torch.Tensor:
    """Same semantics as the reference, bit-equal to the CPU `decode_attention` position by position."""
    CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    batch, window, query_heads, dim = q.shape
    check_paging("verify_attention", query_heads, k_cache, block_table, page_size)
    kv_heads = k_cache.shape[1]
    queries = (q * scale).view(batch, window, kv_heads, query_heads // kv_heads, dim)
    o = torch.empty_like(queries)
    requests = zip(block_table.tolist(), lengths.tolist(), queries.unbind(), o.unbind())
    for request, (pages, length, mine, out) in enumerate(requests):
        check_length("verify_attention", request, length + window, block_table, page_size)
        keys, values = token_rows(k_cache, v_cache, pages, length + window, page_size)
        attend(mine, keys, values, length + 1, out)
    return o.view(batch, window, query_heads, dim)
