"""How a fact is written. The only place where a number becomes text.

Both languages are written from one rounded decimal (half-even), so they cannot show different digits. Decimals by kind:

=============  =====================================================================
ratio          2, then `×` / ` 倍`
percent        1, then `%`; points: 1, then `points` / ` 个百分点`
duration       3 significant digits, integers in full; rate the same
length         2 (accept length, tokens a round)
probability    2
count          integer, grouped by comma; a count that is not whole: 3 significant digits
bytes          3 significant digits in decimal kB, MB, GB
=============  =====================================================================

A fact with an interval never shows decimals finer than the third digit of its half width: the second would let neighbours in one column
differ in digits (3.3 beside 2.98) where their intervals lie on either side of a power of ten. A digit plan (see closes.py) adds digits where a
shown product would not follow from its shown factors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache, cached_property
from typing import TYPE_CHECKING

from babel import Locale

from workflow.page.sayings import Sayings
from workflow.page.words import Words

if TYPE_CHECKING:
    from workflow.derive.fact import Fact

NBSP, NARROW, MINUS = "\u00a0", "\u202f", "\u2212"
RANGE = {"en": "–", "zh": "～"}
LIST = {"en": ", ", "zh": "、"}
ROW = re.compile("|".join(f"{one}(, {one})+" for one in (r"[a-z0-9-]+(?: γ = \d+)?", r"\d+x [A-Z0-9]+")))
"""A label that is a row of whole numbers, of names or of counted devices, as the derivation joins them."""
DECIMALS = {"ratio": 2, "percent": 1, "points": 1, "length": 2, "probability": 2}
SIGNIFICANT = 3
PREFIXES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))
FORMATS = ("bare", "signed", "abs", "ci", "short")
LOCALES = {"en": Locale("en"), "zh": Locale("zh")}

PARTS = {
    "token": ("tokens", "token"),
    "byte": ("B", "B"),
    "min": ("min", "分钟"),
    "request": ("requests", "条请求"),
}
"""Names of units that differ from what a fact calls them: English, Chinese."""
WHOLE = {"1/s": ("req/s", "请求/s"), "token/s": ("tok/s", "tok/s"), "token/s**2": ("tok/s²", "tok/s²")}
PER = {"step": ("step", "步"), "round": ("round", "轮"), "boot": ("boot", "次启动"), "token": ("token", "token"), "byte": ("byte", "字节")}
"""What a rate is per. Times are always per something that the sentence names, so `ms/step` is written `ms`."""
COUNTED = {"count", "length", "probability", "label"}
"""Kinds whose unit the sentence says, not the number."""


def unit_name(unit: str, language: str) -> str:
    """A unit as a fact names it (a pint expression) -> as the language writes it."""
    at = 1 if language == "zh" else 0
    if unit in WHOLE:
        return WHOLE[unit][at]
    above, _, below = unit.partition("/")
    if above in ("ms", "s", "min", "us") and below:
        return PARTS.get(above, (above, above))[at]
    name = PARTS.get(above, (above, above))[at]
    return f"{name}/{PER.get(below, (below, below))[at]}" if below else name


class FormatError(ValueError):
    """A fact that cannot be written as asked."""


def exact(value: float) -> Decimal:
    """The shortest decimal that reads back as this number."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


SEVEN = Context(prec=7)


def for_programs(fact: Fact) -> str:
    """The value as an element carries it: whole numbers and labels as they are, others to seven significant digits (all digits stand on the
    card, in the index of numbers and in values.json; on the page they would be a tenth of what is sent)."""
    return fact.value if isinstance(fact.value, str) else _seven_digits(fact.value)


@cache
def _seven_digits(number: float) -> str:
    value = exact(number)
    return f"{(value if value == value.to_integral_value() else SEVEN.create_decimal(value)).normalize():f}"


def quantum(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


def round_half_even(value: Decimal, decimals: int) -> Decimal:
    """Rounded, and never a negative zero."""
    rounded = value.quantize(quantum(decimals), rounding=ROUND_HALF_EVEN)
    return rounded.copy_abs() if not rounded else rounded


def significant_decimals(value: Decimal, digits: int) -> int:
    """Decimals that show `digits` significant digits; integers are always shown in full."""
    if not value:
        return 0
    decimals = max(0, digits - 1 - value.adjusted())
    rounded = round_half_even(value, decimals)
    # 99.96 rounds up to 100.0, which has one digit too many
    return max(0, decimals - 1) if rounded and rounded.adjusted() > value.adjusted() and decimals else decimals


def interval_decimals(lo: float | None, hi: float | None) -> int | None:
    """Decimals of the third digit of the half width, or None without an interval."""
    if lo is None or hi is None or not hi > lo:
        return None
    half = exact((hi - lo) / 2)
    return max(0, 2 - half.adjusted())


@dataclass(frozen=True)
class Formatter:
    """Facts to text. `extra` adds decimals to keys whose shown product would not close otherwise."""

    words: Words
    extra: dict[str, int] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    """Label values -> {en, zh}."""
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)
    """Why a fact is missing or a claim undecided, as a program says it -> {en, zh}."""
    _written: dict[tuple, str] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was written before: a page asks for the same number many times."""

    def __call__(self, fact: Fact, language: str, fmt: str | None = None) -> str:
        """`1.68×` / `1.68 倍`. fmt: bare, signed, abs, ci, short. Raises FormatError."""
        known = fact.key, fact.kind, fact.value, fact.unit, fact.lo, fact.hi, language, fmt
        if known not in self._written:
            self._written[known] = self._write(fact, language, fmt)
        return self._written[known]

    def _write(self, fact: Fact, language: str, fmt: str | None) -> str:
        if fact.value is None:
            raise FormatError(f"{fact.key} is missing: {fact.reason}")
        if fmt is not None and fmt not in FORMATS:
            raise FormatError(f"unknown format {fmt!r}; there are: {', '.join(FORMATS)}")
        if fact.kind == "label" or isinstance(fact.value, str):
            return self.label(fact, language)
        if fmt == "short":
            return self._short(fact, language)
        number, suffix = self.number(fact), self.suffix(fact, language)
        if fmt == "abs":
            number = number.copy_abs()
        text = self.digits(number)
        if fmt == "signed" and number > 0:
            text = "+" + text
        if fmt == "bare":
            return text
        text += suffix
        return f"{text}{self._interval(fact, language, suffix)}" if fmt == "ci" else text

    def number(self, fact: Fact) -> Decimal:
        """The shown decimal, the same in every language (bytes: in the shown prefix)."""
        value, decimals = self._scaled(fact)
        return round_half_even(value, decimals)

    def step(self, fact: Fact) -> Decimal:
        """The unit of the last shown digit."""
        return quantum(self._scaled(fact)[1])

    def _scaled(self, fact: Fact) -> tuple[Decimal, int]:
        value = exact(fact.value)
        if fact.kind == "bytes":
            value /= next((size for size, _ in PREFIXES if abs(value) >= size), 1)
            decimals = significant_decimals(value, SIGNIFICANT)
        elif fact.kind == "count":
            decimals = 0 if value == value.to_integral_value() else significant_decimals(value, SIGNIFICANT)
        elif fact.kind in DECIMALS:
            # a small effect keeps one significant digit: 0.004× rather than 0.00×
            least = DECIMALS[fact.kind]
            decimals = min(least + 3, max(least, significant_decimals(value, 1)))
            if not round_half_even(value, decimals):
                decimals = least
        elif value == value.to_integral_value() and isinstance(fact.value, int):
            decimals = 0
        else:
            decimals = significant_decimals(value, SIGNIFICANT)
        if fact.kind not in ("bytes", "count") and (known := interval_decimals(fact.lo, fact.hi)) is not None:
            decimals = min(decimals, known)
        return value, decimals + self.extra.get(fact.key, 0)

    def suffix(self, fact: Fact, language: str) -> str:
        """Unit as it follows the digits, its space included."""
        chinese = language == "zh"
        if fact.kind == "ratio":
            return f"{NBSP}倍" if chinese else "×"
        if fact.kind == "percent":
            return "%"
        if fact.kind == "points":
            return f"{NBSP}个百分点" if chinese else f"{NBSP}points"
        if fact.kind == "bytes":
            size = abs(exact(fact.value))
            return NBSP + next((name for least, name in PREFIXES if size >= least), "B")
        if fact.kind in COUNTED or not fact.unit:
            return ""
        return NBSP + unit_name(fact.unit, language)

    def digits(self, number: Decimal) -> str:
        """Grouped digits with a true minus sign; the same in both languages."""
        return f"{number:,f}".replace("-", MINUS)

    def _interval(self, fact: Fact, language: str, suffix: str) -> str:
        if fact.lo is None or fact.hi is None:
            return ""
        decimals = self._scaled(fact)[1]
        lo, hi = (self.digits(round_half_even(exact(end), decimals)) for end in (fact.lo, fact.hi))
        if language == "zh":
            return f"（{lo}{RANGE['zh']}{hi}）"
        dash = " to " if lo.startswith(MINUS) or hi.startswith(MINUS) else RANGE["en"]
        return f" ({lo}{dash}{hi})"

    def _short(self, fact: Fact, language: str) -> str:
        """A large count in millions or thousands: `14.2 M`."""
        value = exact(fact.value)
        size, name = next(((size, name) for size, name in ((10**9, "G"), (10**6, "M"), (10**3, "k")) if abs(value) >= size), (1, ""))
        value /= size
        text = self.digits(round_half_even(value, significant_decimals(value, SIGNIFICANT) if name else 0))
        return f"{text}{NBSP}{name}" if name else text

    def label(self, fact: Fact, language: str) -> str:
        """The name of a label value; `plain` is written as strings.yaml names it. What stands in a row is named one by one, parted as the language parts."""
        text = str(fact.value)
        parts = text.split(", ") if ROW.fullmatch(text) else [text]
        return LIST[language].join(self._sayings.say(part, language) for part in parts)

    def reason(self, text: str, language: str) -> str:
        """Why a fact is missing; the program's own English where the other language is not known."""
        return self._reasons.say(text, language)

    @cached_property
    def _sayings(self) -> Sayings:
        return Sayings(self.names)

    @cached_property
    def _reasons(self) -> Sayings:
        return Sayings(self.reasons)

    def between(self, low: Fact, high: Fact, language: str) -> tuple[str, str, str]:
        """A range with one unit: (`8`, `–`, `10%`) / (`8%`, `～`, `10%`)."""
        if (low.kind, low.unit) != (high.kind, high.unit):
            raise FormatError(f"range of unlike facts: {low.key} is {low.kind} {low.unit}, {high.key} is {high.kind} {high.unit}")
        first = None if language == "zh" and low.kind == "percent" else "bare"
        return self(low, language, first), RANGE[language], self(high, language)

    def whole(self, fact: Fact) -> int:
        if fact.kind == "label" or fact.value is None or exact(fact.value) != exact(fact.value).to_integral_value():
            raise FormatError(f"{fact.key} is not a whole number: {fact.value!r}")
        return int(fact.value)

    def word(self, fact: Fact, language: str) -> str:
        """`five` / `五` up to ten, digits above."""
        count = self.whole(fact)
        return self.words.cardinal(count, language) or self.digits(Decimal(count))

    def ordinal(self, fact: Fact, language: str) -> str:
        """`third` / `第三` up to ten, `11th` / `第 11` above."""
        count = self.whole(fact)
        if word := self.words.ordinal(count, language):
            return word
        if language == "zh":
            return f"第 {count}"
        endings = {"one": "st", "two": "nd", "few": "rd", "other": "th"}
        return f"{count:,}{endings[LOCALES['en'].ordinal_form(count)]}"

    def plural(self, fact: Fact, language: str, forms: dict[str, str]) -> str:
        """The noun that goes with the shown number, by CLDR's plural rules."""
        shown = self.number(fact)
        form = LOCALES[language].plural_form(shown.copy_abs())
        if form not in forms and "other" not in forms:
            raise FormatError(f"plural({fact.key!r}): give {form}= or other=")
        return forms.get(form, forms.get("other", ""))

    def bound(self, language: str) -> InLanguage:
        return InLanguage(self, language)


@dataclass(frozen=True)
class InLanguage:
    """A formatter of one language, as the figures ask for it."""

    formatter: Formatter
    language: str

    def text(self, fact: Fact, style: str | None = None) -> str:
        return self.formatter(fact, self.language, style or None)
