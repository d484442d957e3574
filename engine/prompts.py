"""A turn of prompt stretches: known tokens run, checkpoints go to the prefix cache, and a first token is emitted."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.batch import int64, token_slots
from engine.handout import emit, fail_non_finite
from engine.memory.limit import allocation_failure
from engine.model.layers import PrefillSpan
from engine.replay import replay
from engine.scheduler import Turn
from engine.sequence import Sequence
from engine.step_record import step_record
from engine.trace import RoundStamps
from engine.types import StepRecord
from engine.verify import pick

if TYPE_CHECKING:
    from engine.engine import Engine

clock = time.perf_counter


def prefill(engine: Engine, turn: Turn, start: float) -> StepRecord:
    """Prompt stretches one after another; a prompt that ends here emits its first token."""
    began = clock()
    positions = emitted = 0
    for sequence, count in turn.prefill:
        if sequence.slot < 0:  # ended by a fault earlier in this turn
            continue
        positions += count
        try:
            emitted += _known_tokens(engine, sequence, count)
        except (RuntimeError, MemoryError) as fault:
            exhausted = allocation_failure(fault, engine.memory)
            if exhausted is None:
                raise
            engine.finish(sequence, f"error: {exhausted}", clock())
    done = clock()
    stamps = RoundStamps(began, draft_ms=0.0, verify_ms=1e3 * (done - began), commit_ms=0.0)
    return step_record(engine, "prefill", turn, start, turn.admitted, positions, positions, emitted, stamps)


def _known_tokens(engine: Engine, sequence: Sequence, count: int) -> int:
    """Run `count` tokens of a prompt, or of what an earlier stay generated; tokens emitted at its end."""
    logits = None
    if sequence.length < sequence.isl:
        logits = prefill_stretch(engine, sequence, count)
        engine.scheduler.checkpoint(sequence)
    else:
        replay(engine, sequence, count)
    return _first_token(engine, sequence, logits) if sequence.length == sequence.known else 0


def prefill_stretch(engine: Engine, sequence: Sequence, count: int) -> Tensor | None:
    """Run `count` prompt tokens through target and drafter; logits [V] of the prompt's last token, None before it."""
    prompt, at = sequence.request.prompt_ids, sequence.length
    end = at + count
    span = PrefillSpan(
        start=at,
        slot=sequence.slot,
        pages=int64(sequence.pages),
        kv_slots=int64(token_slots(sequence.pages, at, count, engine.kv.page_size)),
        page_size=engine.kv.page_size,
    )
    ids = int64(prompt[at:end])
    logits, taps = engine.target.prefill(ids, span, last=end == len(prompt))
    if engine.drafter:
        engine.drafter.prefill(ids, taps, int64(prompt[at + 1 : end + 1]), span)
    sequence.length = end
    return logits


def _first_token(engine: Engine, sequence: Sequence, logits: Tensor | None) -> int:
    """The known tokens are through: emit the token after the prompt, unless an earlier stay has."""
    if sequence.record.token_ids:
        sequence.anchor = sequence.record.token_ids[-1]
        engine.scheduler.start_decoding(sequence)
        engine.batch = None
        return 0
    batch = engine.batches.build([sequence])
    logits = logits[None]
    token = pick(engine.ops, logits, batch, batch.lengths).item()
    now = clock()
    if not math.isfinite(logits.sum(dtype=torch.float32).item()):
        fail_non_finite(engine, sequence, now)
        return 0
    engine.scheduler.start_decoding(sequence)
    engine.batch = None
    if sequence.aborted:
        return 0
    sequence.record.first_token_s = now
    return len(emit(engine, sequence, [token], logits, now))
