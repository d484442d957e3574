"""KDA over a state pool that stores less than float32: every stored state is rounded, at the same places on every path.

Plain decoding stores a state after each token, so a verify window rounds after each of its positions too, and a
prompt rounds at absolute multiples of `ROUNDING_STRIDE`, however it is cut. The text then depends on the
type, never on the batch, the window or the cuts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.config import ROUNDING_STRIDE
from engine.model.operators import Operators


def window(
    ops: Operators, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, pool: Tensor, slots: Tensor, scale: float, snapshots: Tensor | None
) -> Tensor:
    """q, k, g [b, W, H, K], v [b, W, H, V], beta [b, W, H], pool [N, H, K, V] -> o [b, W, H, V].

    The states after each position go to `snapshots` [W, b, H, K, V] of the pool's type, or, for W = 1 without
    them, back to the pool.
    """
    state = pool.index_select(0, slots).float()
    outputs = []
    for t in range(q.shape[1]):
        o, _ = ops.kda_decode(q[:, t], k[:, t], v[:, t], g[:, t], beta[:, t], state, scale=scale, out_state=state)
        outputs.append(o)
        rounded = state.to(pool.dtype)
        state.copy_(rounded)
        if snapshots is not None:
            snapshots[t].copy_(rounded)
    if snapshots is None:
        pool.index_copy_(0, slots, rounded)
    return torch.stack(outputs, 1)


def prefill(
    ops: Operators, q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor, scale: float, chunk: int
) -> Tensor:
    """q, k, g [T, H, K], v [T, H, V], beta [T, H] from a multiple of the stride on; state [1, H, K, V] advances in place. o [T, H, V]."""
    outputs = []
    walking = state.float()
    for parts in zip(*(x.split(ROUNDING_STRIDE) for x in (q, k, v, g, beta)), strict=True):
        o, walking = ops.kda_prefill(*(x[None] for x in parts), walking, scale=scale, chunk=chunk)
        outputs.append(o[0])
        walking = walking.to(state.dtype).float()
    state.copy_(walking)
    return torch.cat(outputs)
