"""Chunked form of the gated delta rule with a decay per key channel, for training.

The serial recurrence of one head is, with the state S of shape [K, V] in float32,

    S <- diag(exp g) S;  u = beta (v - S^T k);  S <- S + k u^T;  o = S^T q.

Inside a chunk of ``CHUNK`` positions the u of all positions solve one unit lower
triangular system (the WY form of the delta rule, Yang et al. 2024, "Parallelizing linear
transformers with the delta rule over sequence length"); only the chunk states are serial.
"""

from __future__ import annotations

import torch
from torch import Tensor

# exp(-G) of a chunk reaches exp(16 * 3) = 7e20 with the log-decay floor of -3: finite in
# float32, and so is the product of any two entries above the diagonal.
CHUNK = 16


class UnitLowerInverse(torch.autograd.Function):
    """Inverse of I + N for strictly lower triangular N [..., C, C]."""

    @staticmethod
    def forward(ctx, strictly_lower: Tensor) -> Tensor:
        eye = torch.eye(strictly_lower.shape[-1], dtype=strictly_lower.dtype)
        inverse = torch.linalg.solve_triangular(
            strictly_lower + eye,
            eye.expand_as(strictly_lower),
            upper=False,
            unitriangular=True,
        )
        ctx.save_for_backward(inverse)
        return inverse

    @staticmethod
    def backward(ctx, grad: Tensor) -> Tensor:
        (inverse,) = ctx.saved_tensors
        transposed = inverse.transpose(-1, -2)
        return -(transposed @ grad @ transposed).tril(-1)


def kda_serial(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The recurrence position by position: the reference of the chunked form.

    q, k, g [N, T, K], v [N, T, V], beta [N, T]; returns (o [N, T, V], state [N, K, V]).
    """
    count, length, width = k.shape
    if state is None:
        state = k.new_zeros(count, width, v.shape[-1])
    outputs = []
    for t in range(length):
        state = state * g[:, t].exp().unsqueeze(-1)
        read = torch.einsum("nk,nkv->nv", k[:, t], state)
        update = beta[:, t].unsqueeze(-1) * (v[:, t] - read)
        state = state + k[:, t].unsqueeze(-1) * update.unsqueeze(1)
        outputs.append(torch.einsum("nk,nkv->nv", q[:, t], state))
    return torch.stack(outputs, 1), state


def kda_chunk(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Same shapes and result as :func:`kda_serial`, in chunks; float32 throughout."""
    count, length, width = k.shape
    values = v.shape[-1]
    missing = -length % CHUNK
    if missing:
        # zero decay, key and beta leave the state of the padded positions unchanged
        q, k, v, g = (torch.nn.functional.pad(x, (0, 0, 0, missing)) for x in (q, k, v, g))
        beta = torch.nn.functional.pad(beta, (0, missing))
    chunks = (length + missing) // CHUNK
    q, k, g = (x.reshape(count * chunks, CHUNK, width) for x in (q, k, g))
    v = v.reshape(count * chunks, CHUNK, values)
    beta = beta.reshape(count * chunks, CHUNK, 1)

    decay = g.cumsum(1)
    total = decay[:, -1:]
    grow = decay.exp()
    k_in = k * grow
    k_out = (k * (-decay).exp()).transpose(1, 2)
    # tril comes before the product with beta: what lies above the diagonal is large and
    # must meet a zero gradient through tril alone
    inner = torch.bmm(k_in, k_out).tril(-1) * beta
    inverse = UnitLowerInverse.apply(inner)
    solved_v = torch.bmm(inverse, v * beta)
    solved_k = torch.bmm(inverse, k_in * beta)
    q_in = q * grow
    causal = torch.bmm(q_in, k_out).tril()
    k_end = (k * (total - decay).exp()).transpose(1, 2)

    def by_chunk(x: Tensor) -> tuple[Tensor, ...]:
        return x.reshape(count, chunks, *x.shape[1:]).unbind(1)

    if state is None:
        state = k.new_zeros(count, width, values)
    states, updates = [], []
    for u_v, u_k, end, keep in zip(
        by_chunk(solved_v),
        by_chunk(solved_k),
        by_chunk(k_end),
        by_chunk(total.exp().transpose(1, 2)),
        strict=True,
    ):
        states.append(state)
        update = torch.baddbmm(u_v, u_k, state, alpha=-1)
        updates.append(update)
        state = torch.baddbmm(state * keep, end, update)
    before = torch.stack(states, 1).reshape(count * chunks, width, values)
    update = torch.stack(updates, 1).reshape(count * chunks, CHUNK, values)
    out = torch.baddbmm(torch.bmm(q_in, before), causal, update)
    return out.reshape(count, chunks * CHUNK, values)[:, :length], state
