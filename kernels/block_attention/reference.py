"""Draft attention: every row of the block sees the context and the whole block, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract, check_block_size
from kernels.decode_attention.reference import check_length, check_paging, gather_tokens

CONTRACT = Contract(
    "block_attention",
    q="B G Hq D | f32",
    k_block="B G Hkv D | f32",
    v_block="B G Hkv D | f32",
    k_cache="S Hkv D | float",
    v_cache="S Hkv D | float",
    block_table="B P | int",
    lengths="B | int",
)


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
    """Bidirectional attention inside a draft block, over the context before the anchor.

    q [B, γ, Hq, D], k_block, v_block [B, γ, Hkv, D] float32, not in the pool; caches and block_table as `decode_attention`;
    lengths [B] int64 context tokens (may be 0). Each of the γ rows attends to lengths[b] + γ keys. Returns [B, γ, Hq, D].
    ValueError on shapes that do not fit or γ outside 1..15. Source: DSpark and DFlash draft backbones (block diffusion draft).
    """
    sizes = CONTRACT.check(
        q=q, k_block=k_block, v_block=v_block, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths
    )
    check_block_size("block_attention", sizes["G"])
    check_paging("block_attention", sizes["Hq"], k_cache, block_table, page_size)
    group = sizes["Hq"] // sizes["Hkv"]
    o = torch.zeros_like(q)
    for request in range(sizes["B"]):
        length = int(lengths[request])
        check_length("block_attention", request, length, block_table, page_size)
        keys = torch.cat([gather_tokens(k_cache, block_table[request], length, page_size), k_block[request]])
        values = torch.cat([gather_tokens(v_cache, block_table[request], length, page_size), v_block[request]])
        for head in range(sizes["Hq"]):
            scores = scale * (q[request, :, head] @ keys[:, head // group].T)
            o[request, :, head] = torch.softmax(scores, dim=-1) @ values[:, head // group]
    return o
