"""KDA decode: a verify window of one position."""

from __future__ import annotations

import torch

from kernels.kda_decode.reference import CONTRACT, check_state_rows
from kernels.kda_verify.cpu import advance


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
    """Same semantics as the reference; a request's bits do not depend on the batch."""
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state, slots=slots, out_state=out_state)
    batch, heads, keys, values = sizes["B"], sizes["H"], sizes["K"], sizes["V"]
    check_state_rows("kda_decode", state, batch, slots)
    scatter = False
    if slots is None:
        before = state
        after = torch.empty(batch, heads, keys, values) if out_state is None else out_state
    else:
        where = slots.tolist()
        scatter = not where or where != list(range(where[0], where[0] + batch))
        # a run of slots is advanced where it lies: the states are most of what a large batch moves
        before = after = state.index_select(0, slots) if scatter else state.narrow(0, where[0], batch)
    rows = batch * heads
    o = advance(
        q.reshape(1, rows, keys),
        k.reshape(1, rows, keys),
        v.reshape(1, rows, values),
        g.reshape(1, rows, keys),
        beta.reshape(1, rows, 1),
        before.reshape(rows, keys, values),
        after.view(1, rows, keys, values),
        scale,
    )
    if scatter:
        state.index_copy_(0, slots, after)
    return o.view(batch, heads, values), after
