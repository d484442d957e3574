"""One request's rounds in full: what was drafted, with which probabilities, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.batch import Batch
from engine.draft.base import Draft
from engine.model.operators import Operators
from engine.types import RoundRecord
from engine.verify import target_law


@dataclass(frozen=True)
class RoundStamps:
    """Wall times of one step of the whole batch."""

    start_s: float
    draft_ms: float
    verify_ms: float
    commit_ms: float


def round_record(
    ops: Operators, row: int, correct: int, given: list[int], draft: Draft | None, logits: Tensor, batch: Batch, stamps: RoundStamps
) -> RoundRecord:
    """The row's record. Greedy rows show the laws at temperature 1: what they compared were the maxima of those."""
    drafted: tuple[int, ...] = ()
    q_of: tuple[float, ...] = ()
    p_of: tuple[float, ...] = ()
    if draft is not None:
        ids = draft.ids[row]
        drafted = tuple(ids.tolist())
        if bool(batch.greedy[row]):
            p, q = logits[row].float().softmax(-1), draft.logits[row].softmax(-1)
        else:
            p = target_law(ops, logits, batch)[row]
            q = (draft.logits[row] / batch.temperature[row]).softmax(-1)
        places = torch.arange(len(drafted))
        p_of, q_of = tuple(p[places, ids].tolist()), tuple(q[places, ids].tolist())
    return RoundRecord(
        start_s=stamps.start_s,
        draft_ms=stamps.draft_ms,
        verify_ms=stamps.verify_ms,
        commit_ms=stamps.commit_ms,
        drafted=drafted,
        accepted=correct,
        emitted=tuple(given),
        draft_probs=q_of,
        target_probs=p_of,
    )
