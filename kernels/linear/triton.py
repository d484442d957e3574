"""Row-invariant linear: one tile shape and one order of the inner sum for every number of rows."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.environment import interpret
from kernels.linear.reference import CONTRACT, check_input

BLOCK_M, BLOCK_N, BLOCK_K = 16, 64, 64
WARPS = 4


@triton.jit
def _linear(
    x, weight, y, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, UPCAST: tl.constexpr
):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        at = start + inner
        left = tl.load(x + row.to(tl.int64)[:, None] * K + at[None, :], mask=(row < M)[:, None] & (at < K)[None, :], other=0.0)
        right = tl.load(
            weight + column.to(tl.int64)[None, :] * K + at[:, None], mask=(column < N)[None, :] & (at < K)[:, None], other=0.0
        )
        if UPCAST:
            # The interpreter multiplies bfloat16 bit patterns; on a device the matrix units take bfloat16 as it is.
            left = left.to(tl.float32)
            right = right.to(tl.float32)
        total += tl.dot(left, right, input_precision="ieee")
    where = row.to(tl.int64)[:, None] * N + column[None, :]
    tl.store(y + where, total.to(y.dtype.element_ty), mask=(row < M)[:, None] & (column < N)[None, :])


class TritonLinear:
    """y = x W^T; a row's bits depend on that row only, since no tile and no split depends on M."""

    mode = "triton"

    def __init__(self, weight: torch.Tensor) -> None:
        CONTRACT.check(weight=weight)
        self.weight = weight.contiguous()
        self.out_features, self.in_features = weight.shape

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [M, K] -> [M, N] in x's dtype."""
        check_input(x, self.weight)
        x = x.contiguous()
        rows = x.shape[0]
        y = x.new_empty(rows, self.out_features)
        if rows:
            grid = (triton.cdiv(rows, BLOCK_M), triton.cdiv(self.out_features, BLOCK_N))
            _linear[grid](
                x,
                self.weight,
                y,
                rows,
                self.out_features,
                self.in_features,
                BLOCK_M=BLOCK_M,
                BLOCK_N=BLOCK_N,
                BLOCK_K=BLOCK_K,
                UPCAST=interpret(),
                num_warps=WARPS,
            )
        return y


def linear(weight: torch.Tensor) -> TritonLinear:
    """Same semantics as the reference."""
    return TritonLinear(weight)


VARIANTS = [
    variant(
        _linear,
        WARPS,
        x="*bf16",
        weight="*bf16",
        y="*bf16",
        M="i32",
        N="i32",
        K="i32",
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        UPCAST=False,
    )
]
