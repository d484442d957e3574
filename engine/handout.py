"""What a step leaves behind: committed tokens row by row, the counts of its round, and what each client gets."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence as Rows
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.batch import Batch
from engine.emission import end_of, record_logprobs
from engine.round import Outcome
from engine.sequence import Sequence
from engine.trace import RoundStamps, round_record
from engine.types import RequestRecord

if TYPE_CHECKING:
    from engine.engine import Engine

clock = time.perf_counter


def advance(engine: Engine, batch: Batch, outcomes: Rows[Outcome], stamps: RoundStamps) -> tuple[int, int]:
    """Commit the step's tokens row by row; returns (emitted, committed) tokens over all rows."""
    sequences = list(engine.scheduler.running)
    now = clock()
    emitted = committed = 0
    for outcome in outcomes:
        # NaN and infinities survive a sum, so one number a row tells whether its logits were finite
        health = outcome.logits.sum(dim=(1, 2), dtype=torch.float32).tolist()
        accepted = outcome.correct.tolist() if outcome.draft else [0] * len(outcome.rows)
        drafts = outcome.draft.ids.tolist() if outcome.draft else [[]] * len(outcome.rows)
        bonuses = outcome.bonus.tolist()
        trimmed = outcome.trimmed.tolist() if outcome.trimmed is not None else [0] * len(outcome.rows)
        for place, row in enumerate(outcome.rows):
            sequence = sequences[row]
            if sequence.aborted:
                continue
            if not math.isfinite(health[place]):
                fail_non_finite(engine, sequence, now)
                continue
            c = accepted[place]
            tokens = [*drafts[place][:c], bonuses[place]]
            sequence.length += c + 1
            sequence.anchor = bonuses[place]
            if outcome.draft:
                _count_round(engine, sequence.record, len(drafts[place]), c, trimmed[place])
            given = emit(engine, sequence, tokens, outcome.logits[place], now)
            emitted += len(given)
            committed += c + 1
            if sequence.request.trace:
                sequence.record.trace.append(round_record(engine.ops, place, c, given, outcome, stamps))
    return emitted, committed


def _count_round(engine: Engine, record: RequestRecord, drafts: int, accepted: int, trimmed: int) -> None:
    record.rounds += 1
    record.drafted += drafts
    record.accepted += accepted
    record.accepted_histogram[accepted] += 1
    record.rounds_without_draft += drafts == 0
    record.trimmed += trimmed
    engine.draft_totals.update(
        rounds=1, drafted=drafts, accepted=accepted, rounds_without_draft=int(drafts == 0), trimmed=trimmed
    )


def emit(engine: Engine, sequence: Sequence, tokens: list[int], logits: Tensor, now: float) -> list[int]:
    """Hand tokens to the client, cut where plain decoding would have stopped; logits [>= n, V] decided them."""
    record, sampling = sequence.record, sequence.request.sampling
    eos = None if sampling.ignore_eos else engine.model.eos_token_id
    given: list[int] = []
    sequence.anchor = tokens[-1]
    reason = None
    for token in tokens:
        given.append(token)
        record.token_ids.append(token)
        record.token_times_s.append(now)
        reason = end_of(record, token, eos, sampling.stop_token_ids, sequence.stops, sequence.max_tokens)
        if reason:
            break
    if sampling.logprobs is not None:
        record_logprobs(record, logits, given, sampling.logprobs)
    if reason:
        engine.finish(sequence, reason, now)
    return given


def fail_non_finite(engine: Engine, sequence: Sequence, now: float) -> None:
    """End a request whose logits are NaN or infinite; its own pages are zeroed, or they would spoil who gets them next."""
    engine.kv.scrub(sequence.pages[sequence.shared :])
    engine.finish(sequence, "error: the logits are not finite", now)
