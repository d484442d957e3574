"""KDA decode: a verify window of one position."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kernels.kda_decode.reference import CONTRACT, check_state_rows
from kernels.kda_verify.cpu import Block, advance, requests_per_block


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
    first_slot = _run_of(slots)
    if slots is None:
        after = torch.empty(batch, heads, keys, values) if out_state is None else out_state
    elif first_slot is None:
        after = torch.empty(batch, heads, keys, values)
    else:
        # a run of slots is advanced where it lies: the states are most of what a large batch moves
        state = after = state.narrow(0, first_slot, batch)
    step = requests_per_block(heads, keys, values)

    def blocks() -> Iterator[Block]:
        for first in range(0, batch, step):
            count = min(step, batch - first)
            here = after.narrow(0, first, count)
            states = here.view(-1, keys, values)
            if slots is None or first_slot is not None:
                before = state.narrow(0, first, count).reshape(-1, keys, values)
            else:
                torch.index_select(state, 0, slots.narrow(0, first, count), out=here)
                before = states
            yield slice(first * heads, (first + count) * heads), before, states.unsqueeze(0)
            if slots is not None and first_slot is None:
                state.index_copy_(0, slots.narrow(0, first, count), here)

    rows = batch * heads
    o = advance(
        q.reshape(1, rows, keys),
        k.reshape(1, rows, keys),
        v.reshape(1, rows, values),
        g.reshape(1, rows, keys),
        beta.reshape(1, rows, 1),
        blocks(),
        scale,
    )
    return o.view(batch, heads, values), after


def _run_of(slots: torch.Tensor | None) -> int | None:
    """The first of consecutive ascending slots; None where they are not, or where there are none."""
    where = [] if slots is None else slots.tolist()
    return where[0] if where and where == list(range(where[0], where[0] + len(where))) else None
