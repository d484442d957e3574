"""Which drafts survive: greedy rows by comparison, sampled rows by a rule that keeps the target's law, in one batch.

p is the target's law after temperature, top-k, top-p and min-p; q is the law the draft was drawn from (temperature
only). A sampled row is never compared with an argmax: that would change the distribution it asked for.
Two rules. `chain` rejects with probability 1 - p/q and draws from the residual: the law is the target's. `coupled`
lets the target draw with the drafter's noise and keeps equal tokens: the text is the plain lane's, token for token.
Noise is keyed by (request seed, absolute position of the token it decides, stream), so a request's text does
not depend on its batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.batch import Batch
from engine.draft.base import TARGET_STREAM, Draft
from engine.model.operators import Operators

ACCEPT_STREAM, RESIDUAL_STREAM = 1, 2
"""Streams of `kernels.philox_uniform` beside those of `engine.draft.base`."""


def target_law(ops: Operators, logits: Tensor, batch: Batch) -> Tensor:
    """p: logits [b, W, V] -> probabilities [b, W, V] float32; top-k, then top-p, then min-p, each renormalised."""
    b, width, vocab = logits.shape
    p = ops.softmax_temperature(logits.float(), batch.temperature[:, None].expand(b, width).contiguous())
    if batch.any_truncated:
        rows = p.view(b * width, vocab)
        rows = ops.top_k_renorm(rows, batch.top_k.repeat_interleave(width))
        rows = ops.top_p_renorm(rows, batch.top_p.repeat_interleave(width))
        rows = min_p_renorm(rows, batch.min_p.repeat_interleave(width))
        p = rows.view(b, width, vocab)
    return p


def min_p_renorm(probs: Tensor, min_p: Tensor) -> Tensor:
    """Keep tokens of at least min_p [R] times the likeliest one's probability; probs [R, V], rows of min_p 0 as they are."""
    if not bool(min_p.any()):
        return probs
    limit = (min_p * probs.amax(1)).unsqueeze(1)
    kept = torch.where(probs >= limit, probs, 0.0)
    return torch.where((min_p > 0).unsqueeze(1), kept / kept.sum(1, keepdim=True), probs)


def draft_law(ops: Operators, draft: Draft, batch: Batch) -> Tensor:
    """q: [b, γ, V] float32, of what the drafter really drew from: no truncation."""
    b, gamma = draft.ids.shape
    return ops.softmax_temperature(draft.logits, batch.temperature[:, None].expand(b, gamma).contiguous())


def scores(ops: Operators, logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """What Gumbel noise is added to: (scores [b, W, V] float32, their temperature [b]).

    A truncated row gives log p at temperature 1, any other its logits at its own: decided row by row, so that a
    row's draw does not depend on what its neighbours asked for.
    """
    raw = logits.float()
    if not batch.any_truncated:
        return raw, batch.temperature
    truncated = batch.truncated
    law = target_law(ops, logits, batch).log()
    return torch.where(truncated[:, None, None], law, raw), torch.where(truncated, 1.0, batch.temperature)


def accept(ops: Operators, logits: Tensor, draft: Draft, batch: Batch, rule: str = "chain") -> tuple[Tensor, Tensor]:
    """Target logits [b, γ + 1, V] and a draft -> accepted count c [b] and bonus id [b]."""
    if not batch.any_sampled:
        return ops.greedy_accept(draft.ids, ops.row_argmax(logits))
    if rule == "coupled":
        values, temperature = scores(ops, logits, batch)
        return ops.coupled_accept(values, draft.ids, temperature, batch.seeds, batch.lengths + 1, TARGET_STREAM)
    correct, bonus = _accept_chain(ops, logits, draft, batch)
    if not bool(batch.greedy.any()):
        return correct, bonus
    return ops.accept_mixed(batch.greedy, *ops.greedy_accept(draft.ids, ops.row_argmax(logits)), correct, bonus)


def _accept_chain(ops: Operators, logits: Tensor, draft: Draft, batch: Batch) -> tuple[Tensor, Tensor]:
    p = target_law(ops, logits, batch)
    b, width, _ = p.shape
    positions = (batch.lengths[:, None] + torch.arange(1, width + 1)).reshape(-1)
    seeds = batch.seeds.repeat_interleave(width)
    draw = lambda stream: ops.philox_uniform(seeds, positions, stream, 1).view(b, width)
    # column c of both belongs to the token at lengths + 1 + c: a draft there or, after a rejection, the residual's pick
    u, u_final = draw(ACCEPT_STREAM)[:, :-1].contiguous(), draw(RESIDUAL_STREAM)
    if draft.one_hot:
        return ops.one_hot_accept(p, draft.ids, u, u_final)
    return ops.chain_accept(p, draft_law(ops, draft, batch), draft.ids, u, u_final)


def cap(draft: Draft, correct: Tensor, bonus: Tensor, verify_lens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Accept at most verify_lens - 1 drafts [b]: (c', bonus', drafts given up).

    The accepted draft just after the cap takes the bonus's place. It was drawn and accepted by the target's law, so
    nothing about the text's law changes as long as the cap was chosen without looking at it.
    """
    limit = verify_lens - 1
    over = correct > limit
    last = draft.ids.gather(1, limit.clamp_max(draft.ids.shape[1] - 1)[:, None])[:, 0]
    kept = torch.minimum(correct, limit)
    return kept, torch.where(over, last, bonus), correct - kept


def pick(ops: Operators, logits: Tensor, batch: Batch, positions: Tensor) -> Tensor:
    """Plain decoding: logits [b, V] -> ids [b] for the tokens at `positions` [b]."""
    if not batch.any_sampled:
        return ops.row_argmax(logits)
    values, temperature = scores(ops, logits[:, None], batch)
    return ops.gumbel_sample(values[:, 0], temperature, batch.seeds, positions, TARGET_STREAM)
