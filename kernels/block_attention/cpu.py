"""Draft attention on CPU: context and block scores side by side, no copy of the context."""

from __future__ import annotations

import torch

from kernels.block_attention.reference import CONTRACT
from kernels.contract import check_block_size
from kernels.decode_attention.cpu import token_rows
from kernels.decode_attention.reference import check_length, check_paging


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
    """Same semantics as the reference; a request's bits depend on its own tokens and on γ, not on the batch."""
    CONTRACT.check(q=q, k_block=k_block, v_block=v_block, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    batch, block, query_heads, dim = q.shape
    check_block_size("block_attention", block)
    check_paging("block_attention", query_heads, k_cache, block_table, page_size)
    kv_heads = k_cache.shape[1]
    group = query_heads // kv_heads
    # [B, Hkv, γ * G, D]: one product a KV head serves all rows of the block.
    queries = (q * scale).view(batch, block, kv_heads, group, dim).transpose(1, 2).reshape(batch, kv_heads, block * group, dim)
    block_keys = k_block.permute(0, 2, 3, 1)
    block_values = v_block.transpose(1, 2)
    outputs = []
    for request, (pages, length) in enumerate(zip(block_table.tolist(), lengths.tolist())):
        check_length("block_attention", request, length, block_table, page_size)
        inside = torch.bmm(queries[request], block_keys[request])
        if length == 0:
            outputs.append(torch.bmm(torch.softmax(inside, dim=-1), block_values[request]))
            continue
        keys, values = token_rows(k_cache, v_cache, pages, length, page_size)
        scores = torch.bmm(queries[request], keys.permute(1, 2, 0))
        weights = torch.softmax(torch.cat([scores, inside], dim=-1), dim=-1)
        seen, own = weights.split([length, block], dim=-1)
        outputs.append(torch.bmm(seen, values.transpose(0, 1)).baddbmm_(own, block_values[request]))
    o = (outputs[0] if batch == 1 else torch.stack(outputs)).view(batch, kv_heads, block, group, dim)
    return o.transpose(1, 2).reshape(batch, block, query_heads, dim)
