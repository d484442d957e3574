"""Scores of an accuracy run as figures: names that a key can have, percentages in one unit."""

from __future__ import annotations

import re

from workflow.importers.result import Figure
from workflow.importers.units import convert


def name_of(*parts: str) -> str:
    """`lmeval_gsm8k_exact_match_flexible_extract`: lower-case letters, digits and underscores, a letter first."""
    found = re.sub(r"[^a-z0-9]+", "_", "_".join(filter(None, parts)).lower()).strip("_")
    return found if found[:1].isalpha() else f"score_{found}"


def share(place: str, name: str, value: float, note: str, unit: str = "share") -> Figure:
    """A share as a percentage."""
    return Figure(place, name, convert(value, unit, "percent"), "%", note)
