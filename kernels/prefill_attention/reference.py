"""Causal attention of one prompt's stretch over its paged keys, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract
from kernels.decode_attention.reference import check_length, check_paging, gather_tokens

CONTRACT = Contract(
    "prefill_attention",
    q="T Hq D | f32",
    k_cache="S Hkv D | float",
    v_cache="S Hkv D | float",
    block_table="P | int",
)


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
    """Token start + i attends to tokens 0 .. start + i, whose keys and values are already written.

    q [T, Hq, D] float32 of tokens start .. start + T - 1 of one request; caches as `decode_attention`; block_table [P].
    Returns [T, Hq, D] float32. ValueError on shapes that do not fit. Source: as `decode_attention`.
    """
    sizes = CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table)
    check_paging("prefill_attention", sizes["Hq"], k_cache, block_table, page_size)
    check_length("prefill_attention", 0, start + sizes["T"], block_table, page_size)
    group = sizes["Hq"] // sizes["Hkv"]
    keys = gather_tokens(k_cache, block_table, start + sizes["T"], page_size)
    values = gather_tokens(v_cache, block_table, start + sizes["T"], page_size)
    position = torch.arange(start, start + sizes["T"], device=q.device)
    visible = torch.arange(start + sizes["T"], device=q.device)[None, :] <= position[:, None]
    o = torch.zeros_like(q)
    for head in range(sizes["Hq"]):
        scores = scale * (q[:, head] @ keys[:, head // group].T)
        scores = scores.masked_fill(~visible, float("-inf"))
        o[:, head] = torch.softmax(scores, dim=-1) @ values[:, head // group]
    return o
