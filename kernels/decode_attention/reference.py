"""Paged attention of one token a request, in float32."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract(
    "decode_attention",
    q="B Hq D | f32",
    k_cache="S Hkv D | float",
    v_cache="S Hkv D | float",
    block_table="B P | int",
    lengths="B | int",
)


def gather_tokens(cache: torch.Tensor, pages: torch.Tensor, length: int, page_size: int) -> torch.Tensor:
    """The first `length` tokens of a request: cache [S, Hkv, D], pages [P] -> [length, Hkv, D] float32."""
    token = torch.arange(length, device=cache.device)
    slot = pages[token // page_size] * page_size + token % page_size
    return cache[slot].float()


def check_paging(op: str, query_heads: int, cache: torch.Tensor, table: torch.Tensor, page_size: int) -> None:
    """Grouped heads must divide, and the pool must consist of whole pages."""
    if query_heads % cache.shape[1]:
        raise ValueError(f"{op}: q has {query_heads} heads, expected a multiple of the {cache.shape[1]} of k_cache {list(cache.shape)}")
    if page_size < 1 or cache.shape[0] % page_size:
        raise ValueError(f"{op}: page_size = {page_size} does not divide the {cache.shape[0]} token slots of k_cache {list(cache.shape)}")


def check_length(op: str, request: int, length: int, table: torch.Tensor, page_size: int) -> None:
    """A request cannot be longer than the pages its table lists."""
    if not 0 <= length <= table.shape[-1] * page_size:
        raise ValueError(
            f"{op}: request {request} needs {length} tokens, block_table {list(table.shape)} holds {table.shape[-1] * page_size}"
        )


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
    """o_h = softmax(scale q_h K^T) V over the request's first `lengths[b]` tokens; grouped heads share K and V.

    q [B, Hq, D] float32; k_cache, v_cache [S, Hkv, D], Hq a multiple of Hkv (query head h reads KV head h // (Hq / Hkv));
    block_table [B, P] int64 pages in order; lengths [B] int64 >= 1, the current token included (it is already written).
    Returns [B, Hq, D] float32. ValueError on shapes that do not fit or a length beyond the table.
    Source: Ainslie et al., "GQA", 2023; Kwon et al., "PagedAttention", 2023.
    """
    sizes = CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    check_paging("decode_attention", sizes["Hq"], k_cache, block_table, page_size)
    group = sizes["Hq"] // sizes["Hkv"]
    o = torch.zeros_like(q)
    for request in range(sizes["B"]):
        length = int(lengths[request])
        check_length("decode_attention", request, length, block_table, page_size)
        keys = gather_tokens(k_cache, block_table[request], length, page_size)
        values = gather_tokens(v_cache, block_table[request], length, page_size)
        for head in range(sizes["Hq"]):
            scores = scale * (keys[:, head // group] @ q[request, head])
            o[request, head] = torch.softmax(scores, dim=-1) @ values[:, head // group]
    return o
