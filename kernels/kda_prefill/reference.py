"""Kimi Delta Attention over many tokens: the recurrence, one token after the other."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract(
    "kda_prefill",
    q="B T H K | f32",
    k="B T H K | f32",
    v="B T H V | f32",
    g="B T H K | f32",
    beta="B T H | f32",
    state="B H K V | f32",
)


def kda_prefill(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
    *,
    scale: float,
    chunk: int = 16,
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each token: S <- diag(exp g) S; u = beta (v - S^T k); S <- S + k u^T; o = scale S^T q.

    Decay comes before the read of the old value, the output after the update.
    q, k, g [B, T, H, K], v [B, T, H, V], beta [B, T, H], state [B, H, K, V], all float32; g is the log decay.
    Returns o [B, T, H, V] and the state after the last token [B, H, K, V]; no argument is written.
    `chunk` has no meaning for the recurrence; other backends process that many tokens at a time.
    ValueError on shapes that do not fit. Source: Kimi Linear technical report (2025), equation of the KDA recurrence.
    """
    CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state)
    outputs = []
    for t in range(q.shape[1]):
        state = state * torch.exp(g[:, t])[..., None]
        old_value = torch.einsum("bhkv,bhk->bhv", state, k[:, t])
        update = beta[:, t, :, None] * (v[:, t] - old_value)
        state = state + k[:, t, :, :, None] * update[:, :, None, :]
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]) * scale)
    if not outputs:
        return torch.zeros_like(v), state.clone()
    return torch.stack(outputs, dim=1), state
