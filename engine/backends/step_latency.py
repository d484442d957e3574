"""Step latency of a server that hands out no step rows: three ways to read it, in order of trust, and whether two of them agree."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

TOLERANCE = 0.05
COALESCED = 0.98
"""Fewer chunks than this share of the rounds: the server joined rounds in one chunk, and the gaps are no steps."""
ORDER = ("chunks", "log", "derived")


@dataclass(frozen=True)
class StepLatency:
    """`step_ms` and `source` are None where no way leads to it; `warning` says what does not agree or could not be checked."""

    step_ms: float | None
    source: str | None
    warning: str | None


def chunk_gaps_ms(records: Sequence[Mapping]) -> list[float]:
    """Gaps between the native chunks of each request. None at all where chunks are known to join several rounds."""
    gaps: list[float] = []
    for record in records:
        stamps = record["emissions_s"]
        # the prefill's token is the first chunk, each round one more
        if record.get("rounds") and len(stamps) - 1 < COALESCED * record["rounds"]:
            return []
        gaps += [1000.0 * (later - earlier) for earlier, later in itertools.pairwise(stamps)]
    return gaps


def derived_ms(per_round: float | None, mean_tpot_ms: float | None) -> float | None:
    """A round brings `per_round` tokens (the accept length, less what the end of an answer cut off) in one step.

    Holds where decoding dominates; stalls by prefills are in it.
    """
    return None if per_round is None or mean_tpot_ms is None else per_round * mean_tpot_ms


def decide(chunks: Sequence[float], log: Sequence[float], derived: float | None) -> StepLatency:
    """The first way there is; a warning unless another one lies within TOLERANCE of it, or two others of each other."""
    found = {"chunks": fmean(chunks) if chunks else None, "log": fmean(log) if log else None, "derived": derived}
    known = {name: found[name] for name in ORDER if found[name]}
    if not known:
        return StepLatency(None, None, "step_source: the server gives neither steps, chunks nor log lines to read a step from")
    said = ", ".join(f"{name} {value:.3f} ms" for name, value in known.items())
    agreeing = [pair for pair in itertools.combinations(known, 2) if abs(known[pair[0]] / known[pair[1]] - 1.0) <= TOLERANCE]
    if not agreeing:
        only = "nothing to check it against" if len(known) == 1 else f"no two agree within {TOLERANCE:.0%}"
        first = next(iter(known))
        return StepLatency(known[first], first, f"step_source: {said}; {only}")
    first = next(name for name in known if any(name in pair for pair in agreeing))
    odd = [name for name in known if not any(name in pair for pair in agreeing)]
    return StepLatency(known[first], first, f"step_source: {said}; {odd[0]} disagrees" if odd else None)
