"""KDA prefill in chunks, two kernels: all chunks side by side, then a walk of the state over them.

The algebra and its names are those of `cpu.py`. The first kernel does everything that does not need the state, for every
chunk at once; the second keeps one tile of the state in registers and visits the chunks in order.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import launch_warps, variant
from kernels.environment import interpret
from kernels.kda_prefill.reference import CONTRACT

CHUNK = 16
BLOCK_K = 32
BLOCK_V = 32
LOCAL_WARPS = 4
WALK_WARPS = {"cuda": 8, "hip": 4}
PRECISION = "bf16x6"
"""float32 products as six bfloat16 products on the matrix units: the one such mode that both vendors' compilers take."""


@triton.jit
def _kda_chunk_local(
    q,
    k,
    v,
    g,
    beta,
    writes,
    erase,
    inside,
    query_in,
    key_out,
    keep,
    T,
    H,
    K,
    V,
    CHUNKS,
    CHUNK: tl.constexpr,
    PAD_K: tl.constexpr,
    PAD_V: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_V: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """One chunk of one (request, head): the triangular system solved for values and keys, and the chunk's own scores.

    Its outputs are padded to whole tiles with zeros, so that the walk needs no masks on them.
    """
    chunk = (tl.program_id(0) % CHUNKS).to(tl.int64)
    request = tl.program_id(0) // CHUNKS // H
    head = tl.program_id(0) // CHUNKS % H
    step = tl.arange(0, CHUNK)
    token = chunk * CHUNK + step
    live = token < T
    row = (request * T + token) * H + head
    # Tokens beyond the end read g = 0 and beta = 0: they neither decay nor write.
    b_c = tl.load(beta + row, mask=live, other=0.0)
    out_row = ((request * H + head) * CHUNKS + chunk) * CHUNK + step
    below = step[:, None] > step[None, :]
    diagonal = step[:, None] == step[None, :]
    pairs = tl.zeros((CHUNK, CHUNK), dtype=tl.float32)
    scores = tl.zeros((CHUNK, CHUNK), dtype=tl.float32)
    for first in range(0, PAD_K, BLOCK_K):
        key = first + tl.arange(0, BLOCK_K)
        at = row[:, None] * K + key[None, :]
        mask = live[:, None] & (key < K)[None, :]
        k_c = tl.load(k + at, mask=mask, other=0.0)
        q_c = tl.load(q + at, mask=mask, other=0.0)
        g_c = tl.load(g + at, mask=mask, other=0.0)
        total = tl.cumsum(g_c, axis=0)
        middle = tl.sum(tl.where((step == CHUNK // 2)[:, None], total, 0.0), axis=0)
        last = tl.sum(g_c, axis=0)
        # Exponents relative to the middle of the chunk: half the range, hence twice the decay that fits in float32.
        rise = tl.exp(total - middle[None, :])
        fall = tl.trans(k_c * tl.exp(middle[None, :] - total))
        pairs += tl.dot(k_c * rise, fall, input_precision=PRECISION)
        scores += tl.dot(q_c * rise, fall, input_precision=PRECISION)
        out_at = out_row[:, None] * PAD_K + key[None, :]
        tl.store(query_in + out_at, q_c * tl.exp(total))
        tl.store(key_out + out_at, k_c * tl.exp(last[None, :] - total))
        tl.store(keep + ((request * H + head) * CHUNKS + chunk) * PAD_K + key, tl.exp(last))
    # The mask comes before beta: above the diagonal the product may be infinite, and 0 * inf is NaN.
    lower = tl.where(below, pairs, 0.0) * b_c[:, None]
    inverse = tl.where(diagonal, 1.0, 0.0)
    for i in range(1, CHUNK):
        coefficients = tl.sum(tl.where((step == i)[:, None], lower, 0.0), axis=0)
        solved = tl.sum(coefficients[:, None] * inverse, axis=0)
        inverse = tl.where((step == i)[:, None], inverse - solved[None, :], inverse)
    tl.store(inside + out_row[:, None] * CHUNK + step[None, :], tl.where(below | diagonal, scores, 0.0))
    for first in range(0, PAD_K, BLOCK_K):
        key = first + tl.arange(0, BLOCK_K)
        at = row[:, None] * K + key[None, :]
        mask = live[:, None] & (key < K)[None, :]
        total = tl.cumsum(tl.load(g + at, mask=mask, other=0.0), axis=0)
        weighted = b_c[:, None] * tl.load(k + at, mask=mask, other=0.0) * tl.exp(total)
        solved_keys = tl.dot(inverse, weighted, input_precision=PRECISION)
        tl.store(erase + out_row[:, None] * PAD_K + key[None, :], solved_keys)
    for first in range(0, PAD_V, BLOCK_V):
        value = first + tl.arange(0, BLOCK_V)
        mask = live[:, None] & (value < V)[None, :]
        weighted = b_c[:, None] * tl.load(v + row[:, None] * V + value[None, :], mask=mask, other=0.0)
        solved_values = tl.dot(inverse, weighted, input_precision=PRECISION)
        tl.store(writes + out_row[:, None] * PAD_V + value[None, :], solved_values)


@triton.jit
def _kda_chunk_walk(
    writes,
    erase,
    inside,
    query_in,
    key_out,
    keep,
    state,
    o,
    after,
    scale,
    T,
    H,
    K,
    V,
    CHUNKS,
    CHUNK: tl.constexpr,
    PAD_K: tl.constexpr,
    PAD_V: tl.constexpr,
    BLOCK_V: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The chunks of one (request, head) in order, for one tile of value channels."""
    pair = tl.program_id(0).to(tl.int64)
    request = pair // H
    head = pair % H
    # Two halves of the key channels: the left operand of each product then fits the registers beside the state.
    low = tl.arange(0, PAD_K // 2)
    high = PAD_K // 2 + low
    value = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    step = tl.arange(0, CHUNK)
    mask_low = low < K
    mask_high = high < K
    mask_v = value < V
    tile_low = (pair * K + low[:, None]) * V + value[None, :]
    tile_high = (pair * K + high[:, None]) * V + value[None, :]
    S_low = tl.load(state + tile_low, mask=mask_low[:, None] & mask_v[None, :], other=0.0)
    S_high = tl.load(state + tile_high, mask=mask_high[:, None] & mask_v[None, :], other=0.0)
    for chunk in range(CHUNKS):
        row = (pair * CHUNKS + chunk) * CHUNK + step
        at_low = row[:, None] * PAD_K + low[None, :]
        at_high = row[:, None] * PAD_K + high[None, :]
        erased = tl.dot(tl.load(erase + at_low), S_low, input_precision=PRECISION)
        erased += tl.dot(tl.load(erase + at_high), S_high, input_precision=PRECISION)
        update = tl.load(writes + row[:, None] * PAD_V + value[None, :]) - erased
        out = tl.dot(tl.load(query_in + at_low), S_low, input_precision=PRECISION)
        out += tl.dot(tl.load(query_in + at_high), S_high, input_precision=PRECISION)
        out += tl.dot(tl.load(inside + row[:, None] * CHUNK + step[None, :]), update, input_precision=PRECISION)
        token = chunk * CHUNK + step
        at_o = ((request * T + token) * H + head)[:, None] * V + value[None, :]
        tl.store(o + at_o, out * scale, mask=(token < T)[:, None] & mask_v[None, :])
        # Read transposed, so that the product's left operand needs no shuffle.
        kept = keep + (pair * CHUNKS + chunk) * PAD_K
        to_low = tl.load(key_out + row[None, :] * PAD_K + low[:, None])
        S_low = S_low * tl.load(kept + low)[:, None]
        S_low += tl.dot(to_low, update, input_precision=PRECISION)
        to_high = tl.load(key_out + row[None, :] * PAD_K + high[:, None])
        S_high = S_high * tl.load(kept + high)[:, None]
        S_high += tl.dot(to_high, update, input_precision=PRECISION)
    tl.store(after + tile_low, S_low, mask=mask_low[:, None] & mask_v[None, :])
    tl.store(after + tile_high, S_high, mask=mask_high[:, None] & mask_v[None, :])


def kda_prefill(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
    *,
    scale: float,
    chunk: int = CHUNK,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the CPU path, for chunks of 16 (ValueError for others) and log decays down to -10 a step.

    The bound on g is not checked: asking would wait for the device.
    """
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state)
    batch, tokens, heads, keys, values = (sizes[letter] for letter in ("B", "T", "H", "K", "V"))
    if chunk != CHUNK:
        raise ValueError(f"kda_prefill: chunk = {chunk}, expected {CHUNK} for q {list(q.shape)}")
    o = torch.empty(batch, tokens, heads, values, device=q.device)
    if not batch or not tokens:
        return o, state.clone()
    after = torch.empty(batch, heads, keys, values, device=q.device)
    chunks = triton.cdiv(tokens, CHUNK)

    def scratch(*shape: int) -> torch.Tensor:
        return torch.empty(batch, heads, chunks, *shape, device=q.device)

    pad_k, pad_v = max(BLOCK_K, triton.next_power_of_2(keys)), triton.cdiv(values, BLOCK_V) * BLOCK_V
    precision = "ieee" if interpret() else PRECISION
    writes, erase, inside = scratch(CHUNK, pad_v), scratch(CHUNK, pad_k), scratch(CHUNK, CHUNK)
    query_in, key_out, keep = scratch(CHUNK, pad_k), scratch(CHUNK, pad_k), scratch(pad_k)
    parts = (writes, erase, inside, query_in, key_out, keep)
    _kda_chunk_local[(batch * heads * chunks,)](
        q.contiguous(),
        k.contiguous(),
        v.contiguous(),
        g.contiguous(),
        beta.contiguous(),
        *parts,
        tokens,
        heads,
        keys,
        values,
        chunks,
        CHUNK=CHUNK,
        PAD_K=pad_k,
        PAD_V=pad_v,
        BLOCK_K=BLOCK_K,
        BLOCK_V=BLOCK_V,
        PRECISION=precision,
        num_warps=LOCAL_WARPS,
    )
    _kda_chunk_walk[(batch * heads, triton.cdiv(values, BLOCK_V))](
        *parts,
        state.contiguous(),
        o,
        after,
        scale,
        tokens,
        heads,
        keys,
        values,
        chunks,
        CHUNK=CHUNK,
        PAD_K=pad_k,
        PAD_V=pad_v,
        BLOCK_V=BLOCK_V,
        PRECISION=precision,
        num_warps=launch_warps(WALK_WARPS),
    )
    return o, after


FLOATS = "*fp32"
SIZES = {"T": "i32", "H": "i32", "K": "i32", "V": "i32", "CHUNKS": "i32"}
PARTS = {name: FLOATS for name in ("writes", "erase", "inside", "query_in", "key_out", "keep")}
VARIANTS = [
    variant(
        _kda_chunk_local,
        LOCAL_WARPS,
        q=FLOATS,
        k=FLOATS,
        v=FLOATS,
        g=FLOATS,
        beta=FLOATS,
        **PARTS,
        **SIZES,
        CHUNK=CHUNK,
        PAD_K=128,
        PAD_V=128,
        BLOCK_K=BLOCK_K,
        BLOCK_V=BLOCK_V,
        PRECISION=PRECISION,
    ),
    variant(
        _kda_chunk_walk,
        WALK_WARPS,
        **PARTS,
        state=FLOATS,
        o=FLOATS,
        after=FLOATS,
        scale="fp32",
        **SIZES,
        CHUNK=CHUNK,
        PAD_K=128,
        PAD_V=128,
        BLOCK_V=BLOCK_V,
        PRECISION=PRECISION,
    ),
]
