"""Kimi Delta Attention in chunks: inside a chunk everything is a small matrix product, between chunks the state walks.

Inside a chunk with G_i = g_1 + ... + g_i the recurrence unrolls to u = (I + A)^-1 beta (v - (k exp G)^T S_0),
A_ij = beta_i k_i^T diag(exp(G_i - G_j)) k_j for j < i (the WY form of a product of rank-one updates).
"""

from __future__ import annotations

import torch

from kernels.kda_prefill.reference import CONTRACT

MAX_EXPONENT = 80.0
"""exp(80) = 5.5e34 leaves three decades below the largest float32 for the sum over key channels."""


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
    """Same semantics as the reference, to rounding. The first token stands at the start of a chunk.

    A last chunk that is not full is padded with tokens that do nothing (g = 0, beta = 0), so every chunk has the
    same shape: the bits do not depend on how a prompt was cut at multiples of `chunk`, nor on B.
    ValueError also when a chunk decays by more than exp(-160) in one channel, which float32 cannot factor.
    """
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state)
    batch, tokens, heads, keys, values = (sizes[letter] for letter in ("B", "T", "H", "K", "V"))
    if tokens == 0:
        return torch.zeros_like(v), state.clone()
    count = -(-tokens // chunk)
    padding = count * chunk - tokens

    def split(x: torch.Tensor) -> torch.Tensor:
        """[B, T, H, D] -> [chunks, B * H, C, D], padded with zeros."""
        if padding:
            x = torch.nn.functional.pad(x, (0, 0, 0, 0, 0, padding))
        return x.view(batch, count, chunk, heads, -1).permute(1, 0, 3, 2, 4).reshape(count, batch * heads, chunk, -1)

    qs, ks, vs, gs, bs = split(q), split(k), split(v), split(g), split(beta.unsqueeze(-1))
    total = gs.cumsum(2)
    # Exponents are taken relative to the middle of the chunk: half the range, hence twice the decay that fits.
    middle = total[:, :, chunk // 2 : chunk // 2 + 1]
    if bool((total[:, :, -1:].neg() > 2 * MAX_EXPONENT).any()):
        raise ValueError(
            f"kda_prefill: g {list(g.shape)} decays a channel by more than exp({-2 * MAX_EXPONENT:.0f}) within one chunk of "
            f"{chunk}; expected a bounded gate or a smaller chunk"
        )
    rise = torch.exp(total - middle)
    fall = torch.exp(middle - total)
    key_fall = (ks * fall).transpose(2, 3)
    lower = torch.tril(torch.matmul(ks * rise, key_fall), -1)
    # The mask comes before beta: above the diagonal the product may be infinite, and 0 * inf is NaN.
    inverse_rows = torch.linalg.solve_triangular(
        lower.mul_(bs),
        torch.cat([bs * vs, bs * ks * torch.exp(total)], dim=-1),
        upper=False,
        unitriangular=True,
    )
    writes, erase = inverse_rows.split([values, keys], dim=-1)
    inside = torch.tril(torch.matmul(qs * rise, key_fall)).mul_(scale)
    query_in = (qs * torch.exp(total)).mul_(scale)
    last = total[:, :, -1:]
    key_out = (ks * torch.exp(last - total)).transpose(2, 3)
    keep = torch.exp(last).transpose(2, 3)

    walking = state.reshape(batch * heads, keys, values)
    outputs = torch.empty(count, batch * heads, chunk, values)
    steps = zip(writes.unbind(), erase.unbind(), inside.unbind(), query_in.unbind(), key_out.unbind(), keep.unbind(), outputs.unbind())
    for write, erased, local, query, key, kept, out in steps:
        update = torch.baddbmm(write, erased, walking, alpha=-1)
        torch.bmm(query, walking, out=out)
        out.baddbmm_(local, update)
        walking = (walking * kept).baddbmm_(key, update)
    o = outputs.view(count, batch, heads, chunk, values).permute(1, 0, 3, 2, 4).reshape(batch, count * chunk, heads, values)
    return o[:, :tokens], walking.view(batch, heads, keys, values)
