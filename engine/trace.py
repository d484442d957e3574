"""One request's rounds in full: what was drafted, with which probabilities, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from engine.model.operators import Operators
from engine.round import Outcome
from engine.types import RoundRecord
from engine.verify import target_law


@dataclass(frozen=True)
class RoundStamps:
    """Wall times of one step of the whole batch."""

    start_s: float
    draft_ms: float
    verify_ms: float
    commit_ms: float


def round_record(ops: Operators, row: int, correct: int, given: list[int], outcome: Outcome, stamps: RoundStamps) -> RoundRecord:
    """The record of the outcome's row. Greedy rows show the laws at temperature 1: what they compared were the maxima of those."""
    draft, logits, batch = outcome.draft, outcome.logits, outcome.batch
    drafted: tuple[int, ...] = ()
    q_of: tuple[float, ...] = ()
    p_of: tuple[float, ...] = ()
    if draft is not None and draft.ids.shape[1]:
        ids = draft.ids[row]
        drafted = tuple(ids.tolist())
        greedy = bool(batch.greedy[row])
        p = logits[row].float().softmax(-1) if greedy else target_law(ops, logits, batch)[row]
        places = torch.arange(len(drafted))
        p_of = tuple(p[places, ids].tolist())
        if draft.one_hot:
            q_of = (1.0,) * len(drafted)
        else:
            heat = 1.0 if greedy else batch.temperature[row]
            q_of = tuple((draft.logits[row] / heat).softmax(-1)[places, ids].tolist())
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
