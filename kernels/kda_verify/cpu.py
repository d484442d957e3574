"""KDA verify in three dispatches a position and one for all outputs.

A window is the same sequence of calls as W decode steps, each on matrices of the same shape: the product that
a library picks for a [1, K] x [K, V] matrix is applied to every (request, head) of a batch, so neither B nor W
can change the bits of a row. `tests/kernels/test_kda_bits.py` holds that on the host at hand.
"""

from __future__ import annotations

import torch

from kernels.kda_decode.reference import check_state_rows
from kernels.kda_verify.reference import CONTRACT


def advance(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    before: torch.Tensor,
    snapshots: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Walk W positions from `before`, filling `snapshots`; returns o [W, R, 1, V].

    q, k, g [W, R, K], v [W, R, V], beta [W, R, 1] with R = batch x heads rows; before [R, K, V]; snapshots [W, R, K, V].
    `before` may be snapshots[0] itself (a decode step in place).
    """
    decay = g.exp()
    strong_key = k * beta
    # u = beta v - (exp(g) beta k)^T S reads the state before its decay: one pass less over S.
    reads = (strong_key * decay).unsqueeze(2)
    writes = (v * beta).unsqueeze(2)
    window, rows, keys = k.shape
    previous = before
    steps = zip(reads.unbind(), writes.unbind(), decay.unsqueeze(3).unbind(), k.unsqueeze(3).unbind(), snapshots.unbind())
    for read, write, kept, key, after in steps:
        update = torch.baddbmm(write, read, previous, alpha=-1)
        torch.mul(previous, kept, out=after)
        after.baddbmm_(key, update)
        previous = after
    values = v.shape[2]
    o = torch.bmm((q * scale).view(window * rows, 1, keys), snapshots.view(window * rows, keys, values))
    return o.view(window, rows, 1, values)


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
    if slots is None:
        before = state
    elif batch == 1:
        before = state[int(slots)]
    else:
        before = state.index_select(0, slots)
    rows = batch * heads
    o = advance(
        q.transpose(0, 1).reshape(window, rows, keys),
        k.transpose(0, 1).reshape(window, rows, keys),
        v.transpose(0, 1).reshape(window, rows, values),
        g.transpose(0, 1).reshape(window, rows, keys),
        beta.transpose(0, 1).reshape(window, rows, 1),
        before.reshape(rows, keys, values),
        snapshots.view(window, rows, keys, values),
        scale,
    )
    return o.view(window, batch, heads, values).transpose(0, 1), snapshots
