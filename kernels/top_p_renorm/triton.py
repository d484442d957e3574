"""Nucleus truncation by bisection over the bits of the last kept probability: no sort, any vocabulary."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.top_p_renorm.reference import CONTRACT

WARPS = 8
BLOCK = 2048


@triton.jit
def _top_p_renorm(probs, top_p, out, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    limit = tl.load(top_p + row)
    # An integer flag: the interpreter broadcasts the result of a float comparison as floats.
    all_kept = (limit >= 1.0).to(tl.int32)
    # The largest threshold whose head still holds the wanted mass; 0 if even everything falls short by rounding.
    low = 0
    for bit in range(31):
        candidate = low | (1 << (30 - bit))
        mass = 0.0
        for start in range(0, V, BLOCK):
            ids = start + tl.arange(0, BLOCK)
            p = tl.load(probs + row * V + ids, mask=ids < V, other=0.0)
            mass += tl.sum(tl.where(p.to(tl.int32, bitcast=True) >= candidate, p, 0.0), axis=0)
        low = tl.where((mass >= limit) & (all_kept == 0), candidate, low)
    above = 0.0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(probs + row * V + ids, mask=ids < V, other=0.0)
        above += tl.sum(tl.where(p.to(tl.int32, bitcast=True) > low, p, 0.0), axis=0)
    threshold = low.to(tl.float32, bitcast=True)
    ties_before = 0
    total = 0.0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(probs + row * V + ids, mask=ids < V, other=0.0)
        bits = p.to(tl.int32, bitcast=True)
        tie = ((bits == low) & (ids < V)).to(tl.int32)
        earlier = ties_before + tl.cumsum(tie, axis=0) - tie
        # Equal probabilities enter in the order of their ids while the mass before them is below the limit.
        enters = (tie == 1) & ((above + earlier.to(tl.float32) * threshold < limit) | (all_kept == 1))
        p = tl.where((bits > low) | enters, p, 0.0)
        tl.store(out + row * V + ids, p, mask=ids < V)
        total += tl.sum(p, axis=0)
        ties_before += tl.sum(tie, axis=0)
    divisor = tl.where(all_kept == 1, 1.0, total)
    tl.debug_barrier()
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(out + row * V + ids, mask=ids < V, other=0.0)
        tl.store(out + row * V + ids, p / divisor, mask=ids < V)


def top_p_renorm(probs: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference; a top_p outside (0, 1] is not refused (that would wait for the device)."""
    sizes = CONTRACT.check(probs=probs, top_p=top_p)
    out = torch.empty(probs.shape, device=probs.device)
    if sizes["R"] and sizes["V"]:
        _top_p_renorm[(sizes["R"],)](probs.contiguous(), top_p, out, sizes["V"], BLOCK=BLOCK, num_warps=WARPS)
    return out


VARIANTS = [variant(_top_p_renorm, WARPS, probs="*fp32", top_p="*fp32", out="*fp32", V="i32", BLOCK=BLOCK)]
