"""Printed figures as intervals: half a unit in the last place, and the units in which a claim states its value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from workflow.derive.audit.interval import Interval, outward

EXACT_COLUMNS = {
    "isl", "osl", "max_concurrency", "num_prompts", "max_running_requests", "effective_max_running_requests", "max_total_num_tokens", "state_slots", "block_size",
    "queue", "queue_max", "completed", "failed", "steps", "rounds", "drafted", "accepted", "boot", "repeat",
}  # fmt: skip
"""Settings and counts: what is printed is the number itself, not a rounding of it."""
EXACT_UNITS = {"tokens", "slots", "requests", "questions", "repeats", "configurations", "attempts", "layers"}
"""Units of a `value` column that count things; a figure with decimals is an average all the same."""
CARDINALS = {
    **dict(zip(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], range(13))),
    **dict(zip("零一二三四五六七八九十", range(11))),
    "两": 2,
}


class PrintedError(ValueError):
    """A text that is not a printed figure."""


def number(text: str) -> Decimal:
    """The decimal that a text prints; `1,121` is 1121. Raises PrintedError."""
    cleaned = text.strip().replace("\u2212", "-")
    if re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", cleaned):
        cleaned = cleaned.replace(",", "")
    try:
        value = Decimal(cleaned)
    except InvalidOperation:
        raise PrintedError(f"{text!r} is not a printed figure like 1.68 or 1,121") from None
    if not value.is_finite() or abs(value.adjusted()) > 200:
        raise PrintedError(f"{text!r} is not a finite figure")
    return value


def interval(text: str, exact: bool = False) -> Interval:
    """What a printed figure can stand for. Ends are rounded outwards."""
    value = number(text)
    half = Decimal(0) if exact else Decimal(5).scaleb(value.as_tuple().exponent - 1)
    return Interval.point(float(value)) if exact else outward([float(value - half), float(value + half)])


def is_exact(column: str, text: str, unit: str = "") -> bool:
    """Whether a cell is a count or a setting."""
    return column in EXACT_COLUMNS or (column == "value" and unit in EXACT_UNITS and re.fullmatch(r"\d+", text.strip()) is not None)


def cardinals(text: str) -> list[int | None]:
    """The numbers that a text gives in several languages, `five / 四`; None for a word that is no number."""
    return [int(part) if part.isdigit() else CARDINALS.get(part.lower()) for part in (p.strip() for p in text.split("/"))]


HUNDRED, ONE = Interval.point(100.0), Interval.point(1.0)


@dataclass(frozen=True)
class Unit:
    """How a claim states its value: `to_printed` takes the formula's value to the printed scale; `side` is that of a bound."""

    name: str

    @property
    def side(self) -> int:
        """-1 at most, 1 at least, 0 equal."""
        return {"% at most": -1, "% at least": 1, "at most": -1, "at least": 1}.get(self.name, 0)

    def to_printed(self, value: Interval) -> Interval:
        match self.name:
            case "% higher":
                return (value - ONE) * HUNDRED
            case "% lower":
                return (ONE - value) * HUNDRED
            case "% of":
                return value * HUNDRED
        return value
