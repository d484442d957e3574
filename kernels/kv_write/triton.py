"""KV write, one program a token."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.kv_write.reference import CONTRACT

WARPS = 4


@triton.jit
def _kv_write(k, v, k_cache, v_cache, slots, S, WIDTH, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token)
    at = tl.arange(0, BLOCK)
    inside = (at < WIDTH) & (slot >= 0) & (slot < S)
    key = tl.load(k + token * WIDTH + at, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(v + token * WIDTH + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(k_cache + slot * WIDTH + at, key.to(k_cache.dtype.element_ty), mask=inside)
    tl.store(v_cache + slot * WIDTH + at, value.to(v_cache.dtype.element_ty), mask=inside)


def kv_write(
    k: torch.Tensor, v: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, slots: torch.Tensor
) -> None:
    """Same semantics as the reference, except that a slot >= S is skipped: refusing it would wait for the device."""
    sizes = CONTRACT.check(k=k, v=v, k_cache=k_cache, v_cache=v_cache, slots=slots)
    width = sizes["H"] * sizes["D"]
    if sizes["T"]:
        _kv_write[(sizes["T"],)](
            k.contiguous(),
            v.contiguous(),
            k_cache,
            v_cache,
            slots,
            sizes["S"],
            width,
            BLOCK=triton.next_power_of_2(width),
            num_warps=WARPS,
        )


VARIANTS = [
    variant(
        _kv_write,
        WARPS,
        k="*fp32",
        v="*fp32",
        k_cache="*bf16",
        v_cache="*bf16",
        slots="*i64",
        S="i32",
        WIDTH="i32",
        BLOCK=1024,
    )
]
