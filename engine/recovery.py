"""What happens to the running batch when a step of it runs out of memory."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.memory.limit import MemoryExhausted
from engine.scheduler import Turn
from engine.step_record import step_record
from engine.trace import RoundStamps
from engine.types import StepRecord

if TYPE_CHECKING:
    from engine.engine import Engine

clock = time.perf_counter


def shrink_batch(engine: Engine, turn: Turn, start: float, exhausted: MemoryExhausted) -> StepRecord:
    """A step of the running batch ran out of memory half-way: states may be ahead of their tokens.

    The newest request ends, so that the next try is smaller; the others are rebuilt from their tokens.
    """
    running = sorted(engine.scheduler.running, key=lambda s: s.arrival)
    engine.finish(running[-1], f"error: {exhausted}", clock())
    others = [s for s in reversed(running[:-1]) if s in engine.scheduler.running]
    for sequence in others:
        engine.scheduler.retract(sequence)
    engine.batch = None
    record = step_record(engine, "round" if engine.drafter else "decode", turn, start, len(running), 0, 0, 0, RoundStamps(start, 0.0, 0.0, 0.0))
    return replace(record, retracted=turn.retracted + len(others), queued=len(engine.scheduler.waiting), blocked_by=turn.blocked_by or ("kv_pages" if others else ""))
