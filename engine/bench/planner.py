"""Fit a plan into a budget of time: what is dropped, in which order, is decided before anything runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.config import ConfigError

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration_s(text: str) -> float:
    """`90s`, `20m`, `8h` or `1.5h` in seconds. Raises `ConfigError` naming what would be right."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text.strip())
    if not match or float(match.group(1)) == 0:
        raise ConfigError(f"--budget {text}: expected a number above 0 and a unit: 90s, 20m or 8h")
    return float(match.group(1)) * UNITS[match.group(2)]


@dataclass(frozen=True)
class Part:
    """One stage of a command with its estimate."""

    name: str
    seconds: float
    droppable: bool = True


@dataclass(frozen=True)
class Allotment:
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    """In the order in which they were given up."""
    seconds: float

    def lines(self, budget_s: float, parts: Sequence[Part]) -> list[str]:
        of = {part.name: part.seconds for part in parts}
        said = [f"budget {budget_s / 60:.1f} min, plan {sum(of.values()) / 60:.1f} min"]
        said += [f"not measured for lack of time: {name} ({of[name] / 60:.1f} min)" for name in self.dropped]
        if self.seconds > budget_s:
            said.append(f"what cannot be dropped takes {self.seconds / 60:.1f} min; it is cut short when the time is over")
        return said


def allot(parts: Sequence[Part], order: Sequence[str], budget_s: float | None) -> Allotment:
    """Drop parts in `order` until the rest fits. Without a budget everything is kept."""
    kept = list(parts)
    dropped: list[str] = []
    for name in order:
        if budget_s is None or sum(part.seconds for part in kept) <= budget_s:
            break
        found = next((part for part in kept if part.name == name and part.droppable), None)
        if found:
            kept.remove(found)
            dropped.append(name)
    return Allotment(tuple(part.name for part in kept), tuple(dropped), sum(part.seconds for part in kept))
