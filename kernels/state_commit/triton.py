"""State commit, one program a layer, request and tile; steps are read on the device, so nothing waits for them."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.state_commit.reference import check_commit

WARPS = 4
BLOCK = 1024


@triton.jit
def _state_commit(pool, snapshots, slots, steps, N, W, B, INNER, BLOCK: tl.constexpr):
    layer = (tl.program_id(0) // B).to(tl.int64)
    request = tl.program_id(0) % B
    step = tl.load(steps + request)
    if (step >= 0) & (step < W):
        slot = tl.load(slots + request)
        at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
        inside = at < INNER
        value = tl.load(snapshots + ((layer * W + step) * B + request) * INNER + at, mask=inside)
        tl.store(pool + (layer * N + slot) * INNER + at, value, mask=inside)


def state_commit(pool: torch.Tensor, snapshots: torch.Tensor, slots: torch.Tensor, steps: torch.Tensor) -> None:
    """Same semantics as the reference; the pool must be contiguous."""
    check_commit(pool, snapshots, slots, steps)
    if not pool.is_contiguous():
        raise ValueError(f"state_commit: pool {list(pool.shape)} is written in place and must be contiguous, its strides are {list(pool.stride())}")
    layers, rows = pool.shape[:2]
    window, batch = snapshots.shape[1:3]
    inner = math.prod(pool.shape[2:])
    if layers and batch and inner:
        _state_commit[(layers * batch, triton.cdiv(inner, BLOCK))](
            pool, snapshots.contiguous(), slots, steps, rows, window, batch, inner, BLOCK=BLOCK, num_warps=WARPS
        )


VARIANTS = [
    variant(
        _state_commit,
        WARPS,
        pool="*fp32",
        snapshots="*fp32",
        slots="*i64",
        steps="*i64",
        N="i32",
        W="i32",
        B="i32",
        INNER="i32",
        BLOCK=BLOCK,
    )
]
