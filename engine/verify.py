"""Which drafts survive: greedy rows by comparison, sampled rows by chain rejection, both in one batch.

p is the target's law after temperature, top-k and top-p; q is the law the draft was drawn from (temperature
only). A sampled row is never compared with an argmax: that would change the distribution it asked for.
Noise is keyed by (request seed, absolute position of the token it decides, stream), so a request's text does
not depend on its batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.batch import Batch
from engine.draft.base import Draft
from engine.model.operators import Operators

ACCEPT_STREAM, RESIDUAL_STREAM, TARGET_STREAM = 1, 2, 3
"""Streams of `kernels.philox_uniform`; the drafters draw from stream 0."""


def target_law(ops: Operators, logits: Tensor, batch: Batch) -> Tensor:
    """p: logits [b, W, V] -> probabilities [b, W, V] float32, top-k before top-p."""
    b, width, vocab = logits.shape
    p = ops.softmax_temperature(logits.float(), batch.temperature[:, None].expand(b, width).contiguous())
    if batch.any_truncated:
        rows = p.view(b * width, vocab)
        rows = ops.top_k_renorm(rows, batch.top_k.repeat_interleave(width))
        rows = ops.top_p_renorm(rows, batch.top_p.repeat_interleave(width))
        p = rows.view(b, width, vocab)
    return p


def draft_law(ops: Operators, draft: Draft, batch: Batch) -> Tensor:
    """q: [b, γ, V] float32, of what the drafter really drew from: no top-k, no top-p."""
    b, gamma = draft.ids.shape
    return ops.softmax_temperature(draft.logits, batch.temperature[:, None].expand(b, gamma).contiguous())


def accept(ops: Operators, logits: Tensor, draft: Draft, batch: Batch) -> tuple[Tensor, Tensor]:
    """Target logits [b, γ + 1, V] and a draft -> accepted count c [b] and bonus id [b]."""
    if batch.any_sampled:
        correct, bonus = _accept_sampled(ops, logits, draft, batch)
        if not bool(batch.greedy.any()):
            return correct, bonus
        return ops.accept_mixed(batch.greedy, *_accept_greedy(ops, logits, draft), correct, bonus)
    return _accept_greedy(ops, logits, draft)


def _accept_greedy(ops: Operators, logits: Tensor, draft: Draft) -> tuple[Tensor, Tensor]:
    return ops.greedy_accept(draft.ids, ops.row_argmax(logits))


def _accept_sampled(ops: Operators, logits: Tensor, draft: Draft, batch: Batch) -> tuple[Tensor, Tensor]:
    b, gamma = draft.ids.shape
    p, q = target_law(ops, logits, batch), draft_law(ops, draft, batch)
    positions = batch.lengths[:, None] + torch.arange(1, gamma + 1)
    u = ops.philox_uniform(batch.seeds.repeat_interleave(gamma), positions.reshape(-1), ACCEPT_STREAM, 1).view(b, gamma)
    # one residual or bonus draw a round; no two rounds of a request share their first position
    u_final = ops.philox_uniform(batch.seeds, positions[:, 0].contiguous(), RESIDUAL_STREAM, 1)[:, 0]
    return ops.chain_accept(p, q, draft.ids, u, u_final)


def pick(ops: Operators, logits: Tensor, batch: Batch, positions: Tensor) -> Tensor:
    """Plain decoding: logits [b, V] -> ids [b] for the tokens at `positions` [b]."""
    if not batch.any_sampled:
        return ops.row_argmax(logits)
    if not batch.any_truncated:
        return ops.gumbel_sample(logits.float(), batch.temperature, batch.seeds, positions, TARGET_STREAM)
    # Gumbel-max over log p draws from p itself, so truncation needs no sampler of its own
    law = target_law(ops, logits[:, None], batch)[:, 0].log()
    drawn = ops.gumbel_sample(law, torch.ones_like(batch.temperature), batch.seeds, positions, TARGET_STREAM)
    return torch.where(batch.greedy, ops.row_argmax(logits), drawn)
