"""Compact verify window, one program a request."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.contract import check_block_size
from kernels.verify_window_build.reference import CONTRACT

BLOCK_W = 16


@triton.jit
def _verify_window_build(anchor, drafts, cu_lens, ids, rows, offsets, G, BLOCK_W: tl.constexpr):
    request = tl.program_id(0).to(tl.int64)
    first = tl.load(cu_lens + request)
    length = tl.load(cu_lens + request + 1) - first
    offset = tl.arange(0, BLOCK_W)
    inside = offset < length
    draft = tl.load(drafts + request * G + offset - 1, mask=inside & (offset > 0), other=0)
    token = tl.where(offset == 0, tl.load(anchor + request), draft)
    tl.store(ids + first + offset, token, mask=inside)
    tl.store(rows + first + offset, request, mask=inside)
    tl.store(offsets + first + offset, offset.to(tl.int64), mask=inside)


def verify_window_build(
    anchor: torch.Tensor, drafts: torch.Tensor, verify_lens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Same semantics as the reference. Waits for the device once: the compact size is data."""
    sizes = CONTRACT.check(anchor=anchor, drafts=drafts, verify_lens=verify_lens)
    block = sizes["G"]
    check_block_size("verify_window_build", block)
    device = anchor.device
    cu_lens = torch.cat([torch.zeros(1, dtype=torch.int64, device=device), verify_lens.cumsum(0)])
    if sizes["B"]:
        shortest, longest, total = torch.stack([verify_lens.min(), verify_lens.max(), cu_lens[-1]]).tolist()
        if shortest < 1 or longest > block + 1:
            raise ValueError(f"verify_window_build: verify_lens {list(verify_lens.shape)} holds lengths outside 1..{block + 1}")
    else:
        total = 0
    ids, rows, offsets = (torch.empty(total, dtype=torch.int64, device=device) for _ in range(3))
    if total:
        _verify_window_build[(sizes["B"],)](
            anchor, drafts.contiguous(), cu_lens, ids, rows, offsets, block, BLOCK_W=BLOCK_W, num_warps=1
        )
    return ids, rows, offsets, cu_lens


VARIANTS = [
    variant(
        _verify_window_build,
        1,
        anchor="*i64",
        drafts="*i64",
        cu_lens="*i64",
        ids="*i64",
        rows="*i64",
        offsets="*i64",
        G="i32",
        BLOCK_W=BLOCK_W,
    )
]
