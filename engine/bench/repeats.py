"""What a budget leaves over goes into repeats: a stage's boots are what its verdicts rest on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from engine.bench.stages import Search

OWN = {"confirm": "confirm_pairs", "window": "window_repeats"}
"""Stages whose repeats are the search's own. Those of base against base stay: the blocks behind them are numbered from there, and a journal knows them by number."""
MOST = 4
"""Times what the campaign asks for: beyond that an interval shrinks by less than the machine drifts."""


def repeats_of(stage: Search, names: Sequence[str]) -> dict[str, int]:
    """Stage -> its repeats, of those stages that have any, in the order in which they are given more."""
    parts = {name: part.repeats for name in names if hasattr(part := getattr(stage, name, None), "repeats")}
    return {name: getattr(stage, key) for name, key in OWN.items() if name in names} | parts


def one_more(stage: Search, name: str) -> Search:
    if name in OWN:
        return replace(stage, **{OWN[name]: getattr(stage, OWN[name]) + 1})
    part = getattr(stage, name)
    return replace(stage, **{name: replace(part, repeats=part.repeats + 1)})


def grown(stage: Search, names: Sequence[str], seconds: Callable[[Search], float], budget_s: float | None) -> Search:
    """The search with as many repeats as fit: one more for each of the stages `names` in turn, while the estimate `seconds` stays inside the budget."""
    if budget_s is None:
        return stage
    first = repeats_of(stage, names)
    growing = list(first)
    while growing:
        for name in tuple(growing):
            more = one_more(stage, name)
            if repeats_of(more, names)[name] > MOST * first[name] or seconds(more) > budget_s:
                growing.remove(name)
            else:
                stage = more
    return stage
