"""KDA decode: the verify walk over a window of one, writing the state where the caller keeps it."""

from __future__ import annotations

import torch
import triton

from kernels.aot import variant
from kernels.kda_decode.reference import CONTRACT, check_state_rows
from kernels.kda_verify.triton import BLOCK_V, WARPS, kda_walk


def kda_decode(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
    *,
    scale: float,
    slots: torch.Tensor | None = None,
    out_state: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; `state` must be contiguous when it is a pool."""
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state, slots=slots, out_state=out_state)
    batch, heads, keys, values = (sizes[letter] for letter in ("B", "H", "K", "V"))
    check_state_rows("kda_decode", state, batch, slots)
    if slots is not None:
        if not state.is_contiguous():
            raise ValueError(f"kda_decode: state {list(state.shape)} is written in place and must be contiguous, its strides are {list(state.stride())}")
        after = state
    else:
        after = torch.empty(batch, heads, keys, values, device=q.device) if out_state is None else out_state
    o = torch.empty(batch, heads, values, device=q.device)
    if batch:
        # Each program reads its tile before it writes it and no two share one, so reading and writing the pool is safe.
        kda_walk[(batch * heads, triton.cdiv(values, BLOCK_V))](
            q.contiguous(),
            k.contiguous(),
            v.contiguous(),
            g.contiguous(),
            beta.contiguous(),
            state.contiguous(),
            q if slots is None else slots,
            o,
            after,
            scale,
            batch,
            1,
            heads,
            keys,
            values,
            HAS_SLOTS=slots is not None,
            AFTER_BY_SLOT=slots is not None,
            BLOCK_K=triton.next_power_of_2(keys),
            BLOCK_V=BLOCK_V,
            num_warps=WARPS,
        )
    return o, (state[slots] if slots is not None else after)


VARIANTS = [
    variant(
        kda_walk,
        WARPS,
        q="*fp32",
        k="*fp32",
        v="*fp32",
        g="*fp32",
        beta="*fp32",
        state="*fp32",
        slots="*i64",
        o="*fp32",
        after="*fp32",
        scale="fp32",
        B="i32",
        W=1,
        H="i32",
        K="i32",
        V="i32",
        HAS_SLOTS=True,
        AFTER_BY_SLOT=True,
        BLOCK_K=128,
        BLOCK_V=BLOCK_V,
    )
]
