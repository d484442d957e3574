"""What changed between two publications, told apart from noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from workflow.derive.fact import Fact
from workflow.derive.values import Values, natural

VERDICTS = ("moved", "within noise", "new", "gone", "definition changed", "claim flipped", "same")
CLOCKS = ("_ms", "_s", "throughput")
"""Endings of the columns that come off a clock."""


@dataclass(frozen=True)
class Move:
    """One key of either publication. Values are as published; `delta` and `noise` are in the fact's unit, None for labels and claims."""

    key: str
    verdict: str
    old: float | int | str | None
    new: float | int | str | None
    unit: str = ""
    delta: float | None = None
    noise: float | None = None


def compare(old: Values, new: Values) -> list[Move]:
    """Every key of both publications, facts first, then claims; `same` ones included."""
    facts = [fact_move(key, old, new) for key in sorted({*old.facts, *new.facts}, key=natural)]
    claims = [claim_move(key, old, new) for key in sorted({*old.claims, *new.claims}, key=natural)]
    return facts + claims


def fact_move(key: str, old: Values, new: Values) -> Move:
    """A missing fact counts as gone, or as not there before."""
    before, after = old.facts.get(key), new.facts.get(key)
    was, now = (None if fact is None else fact.value for fact in (before, after))
    unit = (after or before).unit
    if was is None or now is None:
        verdict = "same" if was is now else "new" if was is None else "gone"
        return Move(key, verdict, was, now, unit)
    if (before.unit, before.kind, before.formula) != (after.unit, after.kind, after.formula):
        return Move(key, "definition changed", was, now, unit)
    if isinstance(was, str) or isinstance(now, str):
        return Move(key, "same" if was == now else "moved", was, now)
    delta, noise = now - was, noise_of(before, after, old, new)
    verdict = "same" if delta == 0 else "within noise" if abs(delta) <= noise else "moved"
    return Move(key, verdict, was, now, unit, delta, noise)


def noise_of(before: Fact, after: Fact, old: Values, new: Values) -> float:
    """How far the two values may lie apart by chance: their intervals, and the A/A noise where a clock is behind them."""
    halves = [(fact.hi - fact.lo) / 2 for fact in (before, after) if fact.lo is not None and fact.hi is not None]
    spread = math.hypot(*halves) if len(halves) == 2 else 0.0
    if not clocked(after.key, new):
        return spread
    floors = [fact.value for fact in (old.get("noise.floor"), new.get("noise.floor")) if fact is not None]
    return max(spread, max(floors, default=0.0) / 100 * abs(before.value))


def clocked(key: str, values: Values) -> bool:
    """Whether any leaf of a fact is a time or a rate."""

    @cache
    def look(name: str) -> bool:
        fact = values.facts[name]
        return any((cell.column or cell.row).endswith(CLOCKS) for cell in fact.source) or any(look(parent) for parent in fact.parents)

    return look(key)


def claim_move(key: str, old: Values, new: Values) -> Move:
    before, after = old.claims.get(key), new.claims.get(key)
    was, now = (None if claim is None else claim.verdict for claim in (before, after))
    verdict = "new" if was is None else "gone" if now is None else "same" if was == now else "claim flipped"
    return Move(key, verdict, was, now)
