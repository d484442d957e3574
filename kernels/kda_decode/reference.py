"""Kimi Delta Attention, one token for each request."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract(
    "kda_decode",
    q="B H K | f32",
    k="B H K | f32",
    v="B H V | f32",
    g="B H K | f32",
    beta="B H | f32",
    state="N H K V | f32",
    slots="B | int | optional",
    out_state="B H K V | f32 | contiguous | optional",
)


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
    """One step: S <- diag(exp g) S; u = beta (v - S^T k); S <- S + k u^T; o = scale S^T q.

    q, k, g [B, H, K], v [B, H, V], beta [B, H], all float32; g is the log decay.
    state: with `slots` [B] int64 a pool [N, H, K, V] that is updated in place at those rows (distinct);
    without, [B, H, K, V], left alone, the result going to `out_state` [B, H, K, V] (may be `state` itself) or a
    new tensor. Returns o [B, H, V] and the new states [B, H, K, V].
    ValueError on shapes that do not fit. Source: Kimi Linear technical report (2025).
    """
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state, slots=slots, out_state=out_state)
    check_state_rows("kda_decode", state, sizes["B"], slots)
    before = state if slots is None else state[slots]
    decayed = before * torch.exp(g)[..., None]
    old_value = torch.einsum("bhkv,bhk->bhv", decayed, k)
    update = beta[..., None] * (v - old_value)
    after = decayed + k[..., :, None] * update[..., None, :]
    o = torch.einsum("bhkv,bhk->bhv", after, q) * scale
    if slots is not None:
        state[slots] = after
    elif out_state is not None:
        out_state.copy_(after)
        after = out_state
    return o, after


def check_state_rows(op: str, state: torch.Tensor, batch: int, slots: torch.Tensor | None) -> None:
    """Without slots, row b of `state` belongs to request b, so the sizes must agree."""
    if slots is None and state.shape[0] != batch:
        raise ValueError(f"{op}: state has shape {list(state.shape)}, expected [{batch}, {', '.join(map(str, state.shape[1:]))}] without slots")
