"""Truncation of distributions by bisection over the bits of the last kept probability: no sort, any vocabulary.

Non-negative floats order like their bit patterns, so 31 halvings find the threshold exactly. One kernel serves top-k,
which counts tokens, and top-p, which weighs them.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import Variant, variant
from kernels.contract import Contract
from kernels.top_k_renorm.reference import CONTRACT

WARPS = 8
BLOCK = 2048


@triton.jit
def head(probs, threshold, V, MASS: tl.constexpr, BLOCK: tl.constexpr):
    """How many tokens of a row have bits >= threshold, or (MASS) their summed probability."""
    if MASS:
        total = 0.0
    else:
        total = 0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(probs + ids, mask=ids < V, other=0.0)
        inside = (p.to(tl.int32, bitcast=True) >= threshold) & (ids < V)
        if MASS:
            total += tl.sum(tl.where(inside, p, 0.0), axis=0)
        else:
            total += tl.sum(inside.to(tl.int32), axis=0)
    return total


@triton.jit
def truncate(probs, limits, out, V, MASS: tl.constexpr, BLOCK: tl.constexpr):
    """Keep the `limit` most probable tokens of a row, or (MASS) the fewest that reach that probability; renormalise."""
    row = tl.program_id(0).to(tl.int64)
    probs += row * V
    out += row * V
    limit = tl.load(limits + row)
    # Integer flags: the interpreter broadcasts the result of a float comparison as floats.
    if MASS:
        whole = (limit >= 1.0).to(tl.int32)
    else:
        whole = ((limit <= 0) | (limit >= V)).to(tl.int32)
    # The largest threshold whose head still reaches the limit; 0 if even everything falls short by rounding.
    low = 0
    for bit in range(31):
        candidate = low | (1 << (30 - bit))
        reached = (head(probs, candidate, V, MASS, BLOCK) >= limit) & (whole == 0)
        low = tl.where(reached, candidate, low)
    above = head(probs, low + 1, V, MASS, BLOCK)
    threshold = low.to(tl.float32, bitcast=True)
    ties_before = 0
    total = 0.0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(probs + ids, mask=ids < V, other=0.0)
        bits = p.to(tl.int32, bitcast=True)
        tie = ((bits == low) & (ids < V)).to(tl.int32)
        # Equal probabilities enter in the order of their ids while what stands before them is below the limit.
        earlier = ties_before + tl.cumsum(tie, axis=0) - tie
        if MASS:
            short = above + earlier.to(tl.float32) * threshold < limit
        else:
            short = above + earlier < limit
        p = tl.where((bits > low) | ((tie == 1) & short) | (whole == 1), p, 0.0)
        tl.store(out + ids, p, mask=ids < V)
        total += tl.sum(p, axis=0)
        ties_before += tl.sum(tie, axis=0)
    divisor = tl.where(whole == 1, 1.0, total)
    tl.debug_barrier()
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(out + ids, mask=ids < V, other=0.0)
        tl.store(out + ids, p / divisor, mask=ids < V)


def launch(contract: Contract, probs: torch.Tensor, limit: str, limits: torch.Tensor, mass: bool) -> torch.Tensor:
    """Check and truncate rows [R, V]; `limit` is the name of the argument `limits` [R]."""
    sizes = contract.check(**{"probs": probs, limit: limits})
    out = torch.empty(probs.shape, device=probs.device)
    if sizes["R"] and sizes["V"]:
        truncate[(sizes["R"],)](probs.contiguous(), limits, out, sizes["V"], MASS=mass, BLOCK=BLOCK, num_warps=WARPS)
    return out


def truncate_variant(limits: str, mass: bool) -> Variant:
    """The compilation for one kind of limit."""
    return variant(truncate, WARPS, probs="*fp32", limits=limits, out="*fp32", V="i32", MASS=mass, BLOCK=BLOCK)


def top_k_renorm(probs: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference."""
    return launch(CONTRACT, probs, "top_k", top_k, mass=False)


VARIANTS = [truncate_variant("*i64", mass=False)]
