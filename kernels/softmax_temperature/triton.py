"""Softmax with temperature, one program a row: one online pass for the sum, one to write."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.softmax_temperature.reference import CONTRACT

WARPS = 8
BLOCK = 2048


@triton.jit
def _softmax_temperature(logits, temperature, probs, V, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    heat = tl.maximum(tl.load(temperature + row), 1e-5)
    # Finite, so that a tile of -inf logits (tokens ruled out) subtracts to -inf and not to NaN.
    largest = -3.0e38
    total = 0.0
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        scaled = tl.load(logits + row * V + ids, mask=ids < V, other=-float("inf")).to(tl.float32) / heat
        new_largest = tl.maximum(largest, tl.max(scaled, axis=0))
        total = total * tl.exp(largest - new_largest) + tl.sum(tl.exp(scaled - new_largest), axis=0)
        largest = new_largest
    for start in range(0, V, BLOCK):
        ids = start + tl.arange(0, BLOCK)
        scaled = tl.load(logits + row * V + ids, mask=ids < V, other=-float("inf")).to(tl.float32) / heat
        tl.store(probs + row * V + ids, tl.exp(scaled - largest) / total, mask=ids < V)


def softmax_temperature(logits: torch.Tensor, temperature: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference."""
    vocabulary = CONTRACT.check(logits=logits, temperature=temperature)["V"]
    logits = logits.contiguous()
    probs = torch.empty(logits.shape, device=logits.device)
    rows = logits.numel() // max(vocabulary, 1)
    if rows:
        _softmax_temperature[(rows,)](logits, temperature.contiguous(), probs, vocabulary, BLOCK=BLOCK, num_warps=WARPS)
    return probs


VARIANTS = [variant(_softmax_temperature, WARPS, logits="*fp32", temperature="*fp32", probs="*fp32", V="i32", BLOCK=BLOCK)]
