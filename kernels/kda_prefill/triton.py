"""KDA prefill in chunks: a tile of the state in registers walks the chunks of one (request, head).

The algebra is that of `cpu.py`; the unit lower triangular system is inverted row by row, as a chunk has 16 rows only.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import variant
from kernels.kda_prefill.reference import CONTRACT

WARPS = 4
BLOCK_V = 32
CHUNK = 16


@triton.jit
def _kda_prefill(
    q,
    k,
    v,
    g,
    beta,
    state,
    o,
    after,
    scale,
    T,
    H,
    K,
    V,
    CHUNK: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_V: tl.constexpr,
):
    request = (tl.program_id(0) // H).to(tl.int64)
    head = tl.program_id(0) % H
    key = tl.arange(0, BLOCK_K)
    value = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    step = tl.arange(0, CHUNK)
    inside_k = key < K
    inside_v = value < V
    inside_s = inside_k[:, None] & inside_v[None, :]
    tile = ((request * H + head) * K + key[:, None]) * V + value[None, :]
    S = tl.load(state + tile, mask=inside_s, other=0.0)
    for start in range(0, T, CHUNK):
        token = start + step
        row = (request * T + token) * H + head
        live = token < T
        at_k = row[:, None] * K + key[None, :]
        at_v = row[:, None] * V + value[None, :]
        mask_k = live[:, None] & inside_k[None, :]
        mask_v = live[:, None] & inside_v[None, :]
        # Tokens beyond the end read g = 0 and beta = 0: they neither decay nor write.
        q_c = tl.load(q + at_k, mask=mask_k, other=0.0)
        k_c = tl.load(k + at_k, mask=mask_k, other=0.0)
        v_c = tl.load(v + at_v, mask=mask_v, other=0.0)
        g_c = tl.load(g + at_k, mask=mask_k, other=0.0)
        b_c = tl.load(beta + row, mask=live, other=0.0)
        total = tl.cumsum(g_c, axis=0)
        middle = tl.sum(tl.where((step == CHUNK // 2)[:, None], total, 0.0), axis=0)
        last = tl.sum(g_c, axis=0)
        rise = tl.exp(total - middle[None, :])
        fall = tl.trans(k_c * tl.exp(middle[None, :] - total))
        below = step[:, None] > step[None, :]
        pairs = tl.dot(k_c * rise, fall, input_precision="ieee")
        lower = tl.where(below, pairs, 0.0) * b_c[:, None]
        inverse = tl.where(step[:, None] == step[None, :], 1.0, 0.0)
        for i in tl.static_range(1, CHUNK):
            coefficients = tl.sum(tl.where((step == i)[:, None], lower, 0.0), axis=0)
            solved = tl.sum(coefficients[:, None] * inverse, axis=0)
            inverse = tl.where((step == i)[:, None], inverse - solved[None, :], inverse)
        from_start = tl.exp(total)
        erased = tl.dot(k_c * from_start, S, input_precision="ieee")
        update = tl.dot(inverse, b_c[:, None] * (v_c - erased), input_precision="ieee")
        inside = tl.where(below | (step[:, None] == step[None, :]), tl.dot(q_c * rise, fall, input_precision="ieee"), 0.0)
        out = tl.dot(q_c * from_start, S, input_precision="ieee") + tl.dot(inside, update, input_precision="ieee")
        tl.store(o + at_v, out * scale, mask=mask_v)
        to_end = tl.trans(k_c * tl.exp(last[None, :] - total))
        S = S * tl.exp(last)[:, None] + tl.dot(to_end, update, input_precision="ieee")
    tl.store(after + tile, S, mask=inside_s)


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
    after = torch.empty(batch, heads, keys, values, device=q.device)
    if batch:
        _kda_prefill[(batch * heads, triton.cdiv(values, BLOCK_V))](
            q.contiguous(),
            k.contiguous(),
            v.contiguous(),
            g.contiguous(),
            beta.contiguous(),
            state.contiguous(),
            o,
            after,
            scale,
            tokens,
            heads,
            keys,
            values,
            CHUNK=CHUNK,
            BLOCK_K=max(16, triton.next_power_of_2(keys)),
            BLOCK_V=BLOCK_V,
            num_warps=WARPS,
        )
    return o, after


VARIANTS = [
    variant(
        _kda_prefill,
        WARPS,
        q="*fp32",
        k="*fp32",
        v="*fp32",
        g="*fp32",
        beta="*fp32",
        state="*fp32",
        o="*fp32",
        after="*fp32",
        scale="fp32",
        T="i32",
        H="i32",
        K="i32",
        V="i32",
        CHUNK=CHUNK,
        BLOCK_K=128,
        BLOCK_V=BLOCK_V,
    )
]
