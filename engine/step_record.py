"""The record of one step: what ran, how long it took, and what the pools held."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from engine.scheduler import Turn
from engine.trace import RoundStamps
from engine.types import StepRecord

if TYPE_CHECKING:
    from engine.engine import Engine

clock = time.perf_counter


def step_record(
    engine: Engine, kind: str, turn: Turn, start: float, running: int, positions: int, committed: int, emitted: int, stamps: RoundStamps
) -> StepRecord:
    """Close a step that began at `start`; clocks and counts of the target start anew."""
    engine.steps += 1
    return StepRecord(
        step=engine.steps,
        kind=kind,
        start_s=start,
        step_ms=1e3 * (clock() - start),
        running=running,
        queued=turn.queued,
        positions=positions,
        committed=committed,
        emitted=emitted,
        draft_ms=stamps.draft_ms,
        verify_ms=stamps.verify_ms,
        commit_ms=stamps.commit_ms,
        kv_usage=turn.kv_usage,
        state_usage=turn.state_usage,
        blocked_by=turn.blocked_by,
        operator_ms=_operator_ms(engine),
        retracted=turn.retracted,
        padded=engine.target.take_padded(),
    )


def _operator_ms(engine: Engine) -> dict[str, float] | None:
    """Where the step's time went by operator class; None unless the boot is instrumented."""
    if engine.clock is None:
        return None
    spent = engine.clock.take()
    for kind, ms in engine.target.class_ms().items():
        spent[kind] = spent.get(kind, 0.0) + ms
    return spent
