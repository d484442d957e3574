"""Kimi Delta Attention over the verify window: W steps from the committed state, every state kept."""

from __future__ import annotations

import torch

from kernels.contract import Contract
from kernels.kda_decode.reference import check_state_rows

CONTRACT = Contract(
    "kda_verify",
    q="B W H K | f32",
    k="B W H K | f32",
    v="B W H V | f32",
    g="B W H K | f32",
    beta="B W H | f32",
    state="N H K V | f32",
    slots="B | int | optional",
    snapshots="W B H K V | f32 | contiguous | optional",
)


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
    """W recurrent steps a request. The committed state is only read: which step to keep is known after acceptance.

    q, k, g [B, W, H, K], v [B, W, H, V], beta [B, W, H]; state [N, H, K, V] with rows `slots` [B] int64 (None: N = B).
    Returns o [B, W, H, V] and snapshots [W, B, H, K, V] (written into the given tensor, or new), snapshots[t] being the
    state after position t; position 0 is the anchor, so accepting c drafts commits snapshots[c].
    ValueError on shapes that do not fit. Source: Kimi Linear technical report (2025) for the step; verify windows
    with intermediate states as in SGLang 0.5.23.
    """
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state, slots=slots, snapshots=snapshots)
    check_state_rows("kda_verify", state, sizes["B"], slots)
    current = state if slots is None else state[slots]
    outputs = []
    states = []
    for t in range(sizes["W"]):
        current = current * torch.exp(g[:, t])[..., None]
        old_value = torch.einsum("bhkv,bhk->bhv", current, k[:, t])
        update = beta[:, t, :, None] * (v[:, t] - old_value)
        current = current + k[:, t, :, :, None] * update[:, :, None, :]
        outputs.append(torch.einsum("bhkv,bhk->bhv", current, q[:, t]) * scale)
        states.append(current)
    if snapshots is None:
        snapshots = torch.stack(states)
    else:
        torch.stack(states, out=snapshots)
    return torch.stack(outputs, dim=1), snapshots
