"""Values of foreign files: a number, or nothing. What stands for `unknown` in some tool never becomes a zero."""

from __future__ import annotations

import math
import re

NOTHING = {"", "n/a", "na", "nan", "none", "null", "-", "inf", "-inf", "infinity", "-infinity", "+inf"}
"""Words in the place of a number."""
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)


class NoNumber(ValueError):
    """A value that is neither a number nor one of the words for none."""


def number(value) -> float | None:
    """A finite float, or None for what says that there is none. Raises NoNumber for everything else, a truth value included."""
    if value is None:
        return None
    if isinstance(value, bool):
        raise NoNumber(f"{value!r} is no number")
    if isinstance(value, (int, float)):
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:
            raise NoNumber("an integer too large to be a measurement") from None
    if isinstance(value, str):
        text = value.strip()
        if text.lower() in NOTHING:
            return None
        if GROUPED.fullmatch(text):
            text = text.replace(",", "")
        if NUMBER.fullmatch(text) and math.isfinite(found := float(text)):
            return found
        raise NoNumber(f"{text[:40]!r} is no number")
    raise NoNumber(f"a {type(value).__name__} where a number was expected")


def clean(value, longest: int = 200) -> str | None:
    """A text for a cell: one line, no control characters, no formula of a spreadsheet; None where nothing is left."""
    if value is None or isinstance(value, (dict, list)):
        return None
    text = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())[:longest]
    return ("'" + text if text[:1] in ("=", "@", "+", "-") else text) or None
