"""Verify attention: the decode kernel with W positions a request."""

from __future__ import annotations

import torch

from kernels.decode_attention.reference import check_paging
from kernels.decode_attention.triton import attention_variant, launch
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
    """Same semantics as the reference; lengths are trusted, checking them would wait for the device."""
    sizes = CONTRACT.check(q=q, k_cache=k_cache, v_cache=v_cache, block_table=block_table, lengths=lengths)
    check_paging("verify_attention", sizes["Hq"], k_cache, block_table, page_size)
    return launch(q, k_cache, v_cache, block_table, lengths, page_size, scale, 1)


VARIANTS = [attention_variant("i32", 1)]
