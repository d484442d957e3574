"""Paged attention on CPU, position by position over exactly the tokens it sees.

Each position is three calls whose shapes depend on its own length only. That is what makes a verify window
bit-equal to decode steps: a longer, masked product may sum in another order.
"""

from __future__ import annotations

import torch

from kernels.decode_attention.reference import CONTRACT, check_length, check_paging


def token_rows(
    k_cache: torch.Tensor, v_cache: torch.Tensor, pages: list[int], length: int, page_size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """First `length` keys and values [length, Hkv, D] float32 of a request; views where its pages are consecutive."""
    needed = -(-length // page_size)
    first = pages[0]
    if pages[:needed] == list(range(first, first + needed)):
        rows = k_cache.narrow(0, first * page_size, length), v_cache.narrow(0, first * page_size, length)
    else:
        where = torch.tensor(pages[:needed])
        shape = (-1, page_size, *k_cache.shape[1:])
        rows = tuple(cache.view(shape).index_select(0, where).flatten(0, 1)[:length] for cache in (k_cache, v_cache))
    if k_cache.dtype is not torch.float32:
        rows = rows[0].float(), rows[1].float()
    return rows


def attend(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, first_length: int, o: torch.Tensor) -> None:
    """Positions t = 0..W-1 over their first `first_length + t` tokens.

    queries [W, Hkv, G, D], already scaled; keys, values [>= first_length + W - 1, Hkv, D]; o [W, Hkv, G, D] is written.
    """
    keys = keys.permute(1, 2, 0)
    values = values.transpose(0, 1)
    given = values.shape[1]
    for length, query, out in zip(range(first_length, first_length + queries.shape[0]), queries.unbind(), o.unbind()):
        seen, held = (keys, values) if length == given else (keys.narrow(2, 0, length), values.narrow(1, 0, length))
        torch.bmm(torch.softmax(torch.bmm(query, seen), dim=-1), held, out=out)


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
    """Same semantics as the reference; a request's bits depend on its own tokens only."""
    CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    batch, query_heads, dim = q.shape
    check_paging("decode_attention", query_heads, k_cache, block_table, page_size)
    kv_heads = k_cache.shape[1]
    queries = (q * scale).view(batch, 1, kv_heads, query_heads // kv_heads, dim)
    o = torch.empty_like(queries)
    for request, (pages, length) in enumerate(zip(block_table.tolist(), lengths.tolist())):
        check_length("decode_attention", request, length, block_table, page_size)
        keys, values = token_rows(k_cache, v_cache, pages, length, page_size)
        attend(queries[request], keys, values, length, o[request])
    return o.view(batch, query_heads, dim)
