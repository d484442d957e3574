"""Paged attention of a verify window, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract
from kernels.decode_attention.reference import check_length, check_paging, gather_tokens

CONTRACT = Contract(
    "verify_attention",
    q="B W Hq D | f32",
    k_cache="S Hkv D | float",
    v_cache="S Hkv D | float",
    block_table="B P | int",
    lengths="B | int",
)


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
    """Window position t of request b attends to its first lengths[b] + t + 1 tokens (itself the last).

    q [B, W, Hq, D] float32; caches, block_table as `decode_attention`; lengths [B] int64, the context before the
    window (may be 0); the window's own keys and values are already written. Returns [B, W, Hq, D] float32.
    ValueError on shapes that do not fit or a window beyond the table. Source: as `decode_attention`.
    """
    sizes = CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    check_paging("verify_attention", sizes["Hq"], k_cache, block_table, page_size)
    group = sizes["Hq"] // sizes["Hkv"]
    o = torch.zeros_like(q)
    for request in range(sizes["B"]):
        total = int(lengths[request]) + sizes["W"]
        check_length("verify_attention", request, total, block_table, page_size)
        keys = gather_tokens(k_cache, block_table[request], total, page_size)
        values = gather_tokens(v_cache, block_table[request], total, page_size)
        for t in range(sizes["W"]):
            seen = int(lengths[request]) + t + 1
            for head in range(sizes["Hq"]):
                scores = scale * (keys[:seen, head // group] @ q[request, t, head])
                o[request, t, head] = torch.softmax(scores, dim=-1) @ values[:seen, head // group]
    return o
