"""Paged decode attention through torch's `scaled_dot_product_attention`, a contender in `kernels.bench`.

Not in the registry's rules. Tried on one AVX-512 core with two KV heads of 64: a few microseconds a call faster than
`cpu.py` below some 256 tokens, about twice as slow at 4096. One law for all lengths is worth more than those microseconds:
a switch by length would have to fall on the same side for a verify window and for decode steps.
"""

from __future__ import annotations

import torch

from kernels.decode_attention.cpu import token_rows


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
    """Same semantics as the reference, to rounding."""
    outputs = []
    for query, pages, length in zip(q.unbind(), block_table.tolist(), lengths.tolist()):
        keys, values = (rows.transpose(0, 1)[None] for rows in token_rows(k_cache, v_cache, pages, length, page_size))
        outputs.append(
            torch.nn.functional.scaled_dot_product_attention(query[None, :, None], keys, values, scale=scale, enable_gqa=True)[0, :, 0]
        )
    return torch.stack(outputs)
