"""What the frozen target says about a set of rows, computed once: drafters then train at many anchors a row.

The target's pass over a row costs as much as several hundred draft rows. Kept are the tapped residuals and
the K likeliest next tokens of every position, which hold nearly all of the target's mass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.train.model import Target

TOP = 12


@dataclass(frozen=True)
class TappedRow:
    """One row of T tokens; ``own`` when the target wrote it.

    ids int64 [T], taps bfloat16 [T, m d], top_ids int32 [T, K] from the likeliest down,
    top_share float32 [T, K] their probabilities made to sum to one, weights float32 [T] of
    predicting each token.
    """

    ids: Tensor
    taps: Tensor
    top_ids: Tensor
    top_share: Tensor
    weights: Tensor
    own: bool


@torch.inference_mode()
def tap(target: Target, ids: Tensor, weights: Tensor, own: list[bool]) -> list[TappedRow]:
    """ids int64 [B, T], weights float32 [B, T] -> one row each."""
    hidden, taps, _ = target.run(ids)
    logits = target.lm_head(target.norm(hidden)).float()
    top = logits.topk(TOP, -1)
    share = top.values.softmax(-1)
    packed = torch.cat(taps, -1).to(torch.bfloat16)
    return [
        TappedRow(ids[i], packed[i], top.indices[i].int(), share[i], weights[i], own[i])
        for i in range(len(ids))
    ]


class SparseCrossEntropy(torch.autograd.Function):
    """Cross entropy of rows z [N, V] to a law on K ids a row: ``logsumexp(z) - sum_k share_k z[ids_k]`` [N].

    One pass of exponentials instead of a log-softmax over the vocabulary on both sides.
    """

    @staticmethod
    def forward(ctx, z: Tensor, ids: Tensor, share: Tensor) -> Tensor:
        most = z.amax(1, keepdim=True)
        law = (z - most).exp_()
        total = law.sum(1, keepdim=True)
        loss = (total.log() + most).squeeze(1) - (share * z.gather(1, ids)).sum(1)
        ctx.save_for_backward(law.div_(total), ids, share)
        return loss

    @staticmethod
    def backward(ctx, weight: Tensor) -> tuple[Tensor, None, None]:
        law, ids, share = ctx.saved_tensors
        gradient = law * weight[:, None]
        gradient.scatter_add_(1, ids, share * -weight[:, None])
        return gradient, None, None


NEGATIVES = 512


def sampled_vocabulary(labels: Tensor, vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    """A part of the vocabulary that stands for the whole in a normaliser.

    Every id that some label of the batch puts mass on, and NEGATIVES others, each weighted by how many it stands
    for: the sum of exponentials keeps its expectation. labels int64 [N, K] -> (ids [S], log-weights [S], labels as
    places in ids [N, K]). Source: Bengio and Senecal, "Quick training by importance sampling", 2003.
    """
    wanted = torch.zeros(vocabulary, dtype=torch.bool)
    wanted[labels.flatten()] = True
    positive = wanted.nonzero().flatten()
    rest = (~wanted).nonzero().flatten()
    drawn = rest[torch.randperm(len(rest))[:NEGATIVES]]
    ids = torch.cat([positive, drawn])
    log_weights = torch.zeros(len(ids))
    if len(drawn):
        log_weights[len(positive) :] = math.log(len(rest) / len(drawn))
    place = torch.empty(vocabulary, dtype=torch.int64)
    place[ids] = torch.arange(len(ids))
    return ids, log_weights, place[labels]


def mixed_labels(row: TappedRow, at: Tensor, hard_share: float) -> tuple[Tensor, Tensor]:
    """(ids int64 [N, K], shares [N, K]) at positions ``at`` [N]: the target's law with part of the mass on its argmax."""
    share = row.top_share[at] * (1 - hard_share)
    share[:, 0] += hard_share
    return row.top_ids[at].long(), share
