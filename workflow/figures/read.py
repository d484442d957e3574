"""How a plate reads facts: numbers or None, series over the integers inside keys. No arithmetic."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from workflow.derive.fact import Fact
from workflow.derive.values import Values

CONTENT = ("arith", "code", "en", "zh")
LANES = ("plain", "dspark", "mtp")


@dataclass(frozen=True)
class Mark:
    """One point of a series: `at` is the number inside the key (γ, input length, concurrency, width)."""

    at: int
    key: str
    value: float
    fact: Fact


def value(values: Values, key: str) -> float | None:
    """The number of a fact; None when it is missing, not a number or not finite."""
    return _number(values.get(key))


def word(values: Values, key: str) -> str | None:
    """The text of a label fact, None when it is missing."""
    fact = values.get(key)
    return fact.value if fact is not None and isinstance(fact.value, str) else None


def series(values: Values, pattern: str) -> list[Mark]:
    """Marks of every key that fits `pattern`, whose one `#` stands for an integer; ordered by that integer."""
    shape = re.compile(re.escape(pattern).replace(r"\#", r"(\d+)"))
    marks = []
    for fact in values.match(pattern.replace("#", "*")):
        found, number = shape.fullmatch(fact.key), _number(fact)
        if found and number is not None:
            marks.append(Mark(int(found[1]), fact.key, number, fact))
    return sorted(marks, key=lambda mark: mark.at)


def absent(values: Values, keys: Iterable[str]) -> tuple[str, ...]:
    """The keys that have no number."""
    return tuple(key for key in keys if value(values, key) is None)


def interval(fact: Fact) -> tuple[float, float] | None:
    """The interval of a fact when it has a finite one."""
    if fact.lo is None or fact.hi is None or not (math.isfinite(fact.lo) and math.isfinite(fact.hi)):
        return None
    return fact.lo, fact.hi


def repeats(fact: Fact) -> tuple[float, ...]:
    """The value from each boot alone, where there are several."""
    known = tuple(float(r) for r in fact.repeats if isinstance(r, (int, float)) and math.isfinite(r))
    return known if len(known) > 1 else ()


def _number(fact: Fact | None) -> float | None:
    if fact is None or isinstance(fact.value, bool) or not isinstance(fact.value, (int, float)) or not math.isfinite(fact.value):
        return None
    return float(fact.value)
