"""KDA decode: the verify walk over a window of one, writing the state where the caller keeps it."""

from __future__ import annotations

import torch

from kernels.kda_decode.reference import CONTRACT, check_state_rows
from kernels.kda_verify.triton import launch, walk_variant


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
    o = torch.empty(batch, 1, heads, values, device=q.device)
    launch((q, k, v, g, beta, state), slots, o, after, scale, by_slot=slots is not None)
    return o.squeeze(1), (state[slots] if slots is not None else after)


VARIANTS = [walk_variant(1, by_slot=True)]
