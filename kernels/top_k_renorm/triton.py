"""Top-k truncation by bisection over the bits of the k-th probability: no sort, any vocabulary.

Non-negative floats order like their bit patterns, so 31 halvings find the k-th largest value exactly.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.top_k_renorm.reference import CONTRACT

WARPS = 8
BLOCK = 2048


@triton.jit
def _top_k_renorm(probs, top_k, out, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.load(top_k + row)
    all_kept = (k <= 0) | (k >= V)
    # Invariant: at least k values have bits >= low. A row that is kept whole ends at low = 0.
    low = 0
    for bit in range(31):
        candidate = low | (1 << (30 - bit))
        count = 0
        for start in range(0, V, BLOCK):
            ids = start + tl.arange(0, BLOCK)
            bits = tl.load(probs + row * V + ids, mask=ids < V, other=0.0).to(tl.int32, bitcast=True)
            count += tl.sum(((bits >= candidate) & (ids < V)).to(tl.int32), axis=0)
        low = tl.where((count >= k) & (all_kept == 0), candidate, low)
    above = 0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        bits = tl.load(probs + row * V + ids, mask=ids < V, other=0.0).to(tl.int32, bitcast=True)
        above += tl.sum(((bits > low) & (ids < V)).to(tl.int32), axis=0)
    ties_wanted = tl.where(all_kept, V, k.to(tl.int32) - above)
    ties_before = 0
    total = 0.0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(probs + row * V + ids, mask=ids < V, other=0.0)
        bits = p.to(tl.int32, bitcast=True)
        tie = ((bits == low) & (ids < V)).to(tl.int32)
        rank = ties_before + tl.cumsum(tie, axis=0)
        kept = (bits > low) | ((tie == 1) & (rank <= ties_wanted))
        p = tl.where(kept, p, 0.0)
        tl.store(out + row * V + ids, p, mask=ids < V)
        total += tl.sum(p, axis=0)
        ties_before += tl.sum(tie, axis=0)
    divisor = tl.where(all_kept, 1.0, total)
    tl.debug_barrier()
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        p = tl.load(out + row * V + ids, mask=ids < V, other=0.0)
        tl.store(out + row * V + ids, p / divisor, mask=ids < V)


def top_k_renorm(probs: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference."""
    sizes = CONTRACT.check(probs=probs, top_k=top_k)
    out = torch.empty(probs.shape, device=probs.device)
    if sizes["R"] and sizes["V"]:
        _top_k_renorm[(sizes["R"],)](probs.contiguous(), top_k, out, sizes["V"], BLOCK=BLOCK, num_warps=WARPS)
    return out


VARIANTS = [variant(_top_k_renorm, WARPS, probs="*fp32", top_k="*i64", out="*fp32", V="i32", BLOCK=BLOCK)]
