"""Write keys and values of new tokens into the pool."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract(
    "kv_write",
    k="T H D | float",
    v="T H D | float",
    k_cache="S H D | float | contiguous",
    v_cache="S H D | float | contiguous",
    slots="T | int",
)


def kv_write(
    k: torch.Tensor, v: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, slots: torch.Tensor
) -> None:
    """k_cache[slots[t]] <- k[t], v_cache[slots[t]] <- v[t], in place; a negative slot is skipped.

    k, v [T, Hkv, D]; caches [S, Hkv, D], cast to their dtype on write; slots [T] int64 token slots
    (page * page_size + offset), distinct. ValueError on shapes that do not fit or a slot >= S.
    Source: paged KV cache, Kwon et al. 2023.
    """
    sizes = CONTRACT.check(k=k, v=v, k_cache=k_cache, v_cache=v_cache, slots=slots)
    for token in range(sizes["T"]):
        slot = int(slots[token])
        if slot >= sizes["S"]:
            raise ValueError(f"kv_write: slots[{token}] = {slot} is outside k_cache {list(k_cache.shape)}")
        if slot >= 0:
            k_cache[slot] = k[token].to(k_cache.dtype)
            v_cache[slot] = v[token].to(v_cache.dtype)
