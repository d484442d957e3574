"""KDA verify in three dispatches a position and one for all outputs.

A window is the same sequence of calls as W decode steps, each on matrices of the same shape: the product that
a library picks for a [1, K] x [K, V] matrix is applied to every (request, head) of a batch, so neither B nor W
can change the bits of a row. `tests/kernels/test_kda_bits.py` holds that on the host at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from kernels.kda_decode.reference import check_state_rows
from kernels.kda_verify.reference import CONTRACT

BLOCK_BYTES = 3 << 18
"""States that are walked together: what stays in a core's second-level cache over the four passes of a position."""

Block = tuple[slice, torch.Tensor, torch.Tensor]
"""Rows, their states before the window [n, K, V], and where the states after each position go [W, n, K, V]."""


def requests_per_block(heads: int, keys: int, values: int) -> int:
    """Requests whose states fit into `BLOCK_BYTES`."""
    return max(1, BLOCK_BYTES // (4 * heads * keys * values))


def advance(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    blocks: Iterable[Block],
    scale: float,
) -> torch.Tensor:
    """Walk W positions block by block, filling each block's snapshots; returns o [W, R, 1, V].

    q, k, g [W, R, K], v [W, R, V], beta [W, R, 1] with R = batch x heads rows. A block's states before the window may be
    its first snapshot itself (a decode step in place); the iterator goes on once a block is done.
    """
    decay = g.exp()
    strong_key = k * beta
    # u = beta v - (exp(g) beta k)^T S reads the state before its decay: one pass less over S.
    reads = (strong_key * decay).unsqueeze(2)
    writes = (v * beta).unsqueeze(2)
    decay, k, queries = decay.unsqueeze(3), k.unsqueeze(3), (q * scale).unsqueeze(2)
    (window, rows, _, keys), values = queries.shape, v.shape[2]
    o = None
    for mine, previous, snapshots in blocks:
        whole = previous.shape[0] == rows
        inputs = (reads, writes, decay, k) if whole else tuple(x[:, mine] for x in (reads, writes, decay, k))
        for read, write, kept, key, after in zip(*(x.unbind() for x in inputs), snapshots.unbind()):
            update = torch.baddbmm(write, read, previous, alpha=-1)
            torch.mul(previous, kept, out=after)
            after.baddbmm_(key, update)
            previous = after
        if whole:
            o = torch.bmm(queries.view(window * rows, 1, keys), snapshots.view(window * rows, keys, values)).view(window, rows, 1, values)
            continue
        if o is None:
            o = torch.empty(window, rows, 1, values)
        for query, states, out in zip(queries[:, mine].unbind(), snapshots.unbind(), o[:, mine].unbind()):
            torch.bmm(query, states, out=out)
    return torch.empty(window, rows, 1, values) if o is None else o


def kda_verify(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
    *,
    scale: float,
    slots: torch.Tensor | None = None,
    snapshots: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference, bit-equal to W calls of the CPU `kda_decode`."""
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state, slots=slots, snapshots=snapshots)
    batch, window, heads, keys, values = sizes["B"], sizes["W"], sizes["H"], sizes["K"], sizes["V"]
    check_state_rows("kda_verify", state, batch, slots)
    if snapshots is None:
        snapshots = torch.empty(window, batch, heads, keys, values)
    step = requests_per_block(heads, keys, values)

    def blocks() -> Iterator[Block]:
        for first in range(0, batch, step):
            count = min(step, batch - first)
            if slots is None:
                before = state.narrow(0, first, count)
            elif batch == 1:
                before = state[int(slots)]
            else:
                before = state.index_select(0, slots.narrow(0, first, count))
            rows = slice(first * heads, (first + count) * heads)
            after = snapshots if count == batch else snapshots.narrow(1, first, count)
            yield rows, before.reshape(-1, keys, values), after.view(window, count * heads, keys, values)

    rows = batch * heads
    o = advance(
        q.transpose(0, 1).reshape(window, rows, keys),
        k.transpose(0, 1).reshape(window, rows, keys),
        v.transpose(0, 1).reshape(window, rows, values),
        g.transpose(0, 1).reshape(window, rows, keys),
        beta.transpose(0, 1).reshape(window, rows, 1),
        blocks(),
        scale,
    )
    return o.view(window, batch, heads, values).transpose(0, 1), snapshots
