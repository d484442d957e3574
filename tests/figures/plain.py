"""A formatter for tests of the drawings alone; the page has the real one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from workflow.derive.fact import Fact

NAMES = {"arith": {"en": "arithmetic", "zh": "算术"}, "zh": {"en": "Chinese", "zh": "中文"}}
STRINGS = Path(__file__).resolve().parents[2] / "templates" / "strings" / "plates.yaml"


@cache
def strings() -> dict:
    """The plates' strings as the page merges them."""
    return yaml.safe_load(STRINGS.read_text("utf8"))


@dataclass(frozen=True)
class PlainNumbers:
    language: str

    def text(self, fact: Fact, style: str | None = None) -> str:
        return written(fact, self.language, style)


def written(fact: Fact, language: str, fmt: str | None = None) -> str:
    """A number about as the page writes it."""
    if isinstance(fact.value, str):
        return NAMES[fact.value][language] if fact.value in NAMES else fact.value
    unit, digits = "", f"{fact.value:.2f}"
    match fact.kind:
        case "ratio":
            unit = "×" if language == "en" else "\N{NO-BREAK SPACE}倍"
        case "percent":
            digits, unit = f"{fact.value:.1f}", "%"
        case "duration" | "rate":
            unit = "\N{NO-BREAK SPACE}" + {"token/s": "tok/s"}.get(fact.unit, fact.unit.split("/")[0])
            digits = f"{fact.value:.3g}" if abs(fact.value) < 1000 else f"{fact.value:,.0f}"
        case "count":
            digits = f"{fact.value:,.0f}"
    digits = digits.replace("-", "\N{MINUS SIGN}")
    if fmt == "signed" and fact.value > 0:
        digits = "+" + digits
    return digits if fmt == "bare" else digits + unit
