"""KV write with one indexed copy a cache, or a plain slice where the slots are consecutive."""

from __future__ import annotations

import torch

from kernels.kv_write.reference import CONTRACT


def kv_write(
    k: torch.Tensor, v: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, slots: torch.Tensor
) -> None:
    """Same semantics as the reference."""
    CONTRACT.check(k=k, v=v, k_cache=k_cache, v_cache=v_cache, slots=slots)
    where = slots.tolist()
    if not where:
        return
    size = k_cache.shape[0]
    first, last = where[0], where[-1]
    if max(where) >= size:
        raise ValueError(f"kv_write: slots holds {max(where)}, outside k_cache {list(k_cache.shape)}")
    if first >= 0 and last - first == len(where) - 1 and where == list(range(first, last + 1)):
        k_cache[first : last + 1].copy_(k)
        v_cache[first : last + 1].copy_(v)
        return
    if min(where) < 0:
        kept = slots >= 0
        k, v, slots = k[kept], v[kept], slots[kept]
    k_cache.index_copy_(0, slots, k.to(k_cache.dtype))
    v_cache.index_copy_(0, slots, v.to(v_cache.dtype))
