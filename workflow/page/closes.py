"""Shown factors must give the shown result: declared equations, and the digits it takes.

An equation such as `win.ratio = win.accept_factor * win.step_factor` is declared in a section's front matter (`closes:`). A reader who computes the
right side from the digits shown must arrive at the digits shown on the left; digits are added to the terms until this is so.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

from workflow.page.format import Formatter, exact, round_half_even

TOKEN = re.compile(r"\s*([A-Za-z_][\w.\-]*|\d+(?:\.\d+)?|[-+*/()=])")
MOST_EXTRA = 4
MOST_APART = 4
"""Factors whose digits are chosen one by one; of more there are too many choices."""


class ClosesError(ValueError):
    """An equation that cannot be read, or that no number of digits closes."""


@dataclass(frozen=True)
class Equation:
    """`result = expression` over fact keys and plain constants."""

    text: str
    result: str
    terms: tuple[str, ...]
    tokens: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Equation:
        tokens = tuple(TOKEN.findall(text))
        if "".join(tokens) != "".join(text.split()):
            raise ClosesError(f"closes: cannot read {text!r}; write `key = key * key` with + - * / ( )")
        if len(tokens) < 3 or tokens[1] != "=" or not is_key(tokens[0]) or "=" in tokens[2:]:
            raise ClosesError(f"closes: {text!r} is not of the form `key = expression`")
        terms = tuple(dict.fromkeys(token for token in tokens[2:] if is_key(token)))
        if not terms:
            raise ClosesError(f"closes: {text!r} has no key on its right side")
        return cls(text, tokens[0], terms, tokens[2:])

    @property
    def keys(self) -> frozenset[str]:
        return frozenset((self.result, *self.terms))

    def evaluate(self, value: Callable[[str], Decimal]) -> Decimal:
        result, rest = _sum(list(self.tokens), value)
        if rest:
            raise ClosesError(f"closes: cannot read {self.text!r} from {rest[0]!r} on")
        return result


def is_key(token: str) -> bool:
    return bool(re.match(r"[A-Za-z_]", token))


def _sum(tokens: list[str], value) -> tuple[Decimal, list[str]]:
    total, tokens = _product(tokens, value)
    while tokens and tokens[0] in "+-":
        sign, (right, tokens) = tokens[0], _product(tokens[1:], value)
        total = total + right if sign == "+" else total - right
    return total, tokens


def _product(tokens: list[str], value) -> tuple[Decimal, list[str]]:
    total, tokens = _atom(tokens, value)
    while tokens and tokens[0] in "*/":
        sign, (right, tokens) = tokens[0], _atom(tokens[1:], value)
        total = total * right if sign == "*" else total / right
    return total, tokens


def _atom(tokens: list[str], value) -> tuple[Decimal, list[str]]:
    if not tokens:
        raise ClosesError("closes: the equation ends too early")
    head, rest = tokens[0], tokens[1:]
    if head == "(":
        inner, rest = _sum(rest, value)
        if not rest or rest[0] != ")":
            raise ClosesError("closes: a parenthesis is not closed")
        return inner, rest[1:]
    if is_key(head):
        return value(head), rest
    if head[0].isdigit():
        return Decimal(head), rest
    raise ClosesError(f"closes: unexpected {head!r}")


def holds(equation: Equation, fact) -> bool:
    """Whether the unrounded values satisfy the equation."""
    truth = exact(fact(equation.result).value)
    return abs(_unrounded(equation, fact) - truth) <= max(abs(truth), Decimal(1)) * Decimal("1e-6")


def _unrounded(equation: Equation, fact) -> Decimal:
    return equation.evaluate(lambda key: exact(fact(key).value))


def closed(equation: Equation, formatter: Formatter, fact) -> bool:
    """Whether the shown terms give the shown result."""
    result = fact(equation.result)
    shown = formatter.number(result)
    try:
        from_terms = equation.evaluate(lambda key: formatter.number(fact(key)))
    except ArithmeticError:  # a divisor that is zero with the digits shown
        return False
    decimals = max(0, -formatter.step(result).as_tuple().exponent)
    return round_half_even(from_terms, decimals) == shown


def widen(formatter: Formatter, equations: list[Equation], fact) -> Formatter:
    """A formatter with as many more digits as the equations need.

    `fact(key)` returns a Fact that is not missing. Equations over missing facts must be left out by the caller. Raises ClosesError when an equation
    does not hold for the unrounded values, or not within four more digits of its terms and four of its result.
    """
    for equation in equations:
        if not holds(equation, fact):
            right, left = float(_unrounded(equation, fact)), float(fact(equation.result).value)
            raise ClosesError(f"closes: {equation.text!r} does not hold: the right side is {right:.6g}, the left {left:.6g}")
    for group in sharing(equations):
        formatter = _widened(group, formatter, fact)
    return formatter


def sharing(equations: list[Equation]) -> list[list[Equation]]:
    """Equations that have keys in common, directly or through others: a digit that one of them needs may open another."""
    groups: list[list[Equation]] = []
    for equation in equations:
        near = [group for group in groups if any(not equation.keys.isdisjoint(other.keys) for other in group)]
        groups = [group for group in groups if group not in near] + [[*itertools.chain(*near), equation]]
    return groups


def _widened(equations: list[Equation], formatter: Formatter, fact) -> Formatter:
    """The formatter with the fewest more digits that close equations which share keys.

    Digits of the terms come first. A result next to a rounding tie may need more of them than a reader can bear; one more digit of the result moves
    the tie away.
    """
    results = dict.fromkeys(equation.result for equation in equations)
    terms = [key for key in dict.fromkeys(term for equation in equations for term in equation.terms) if key not in results]
    added = any({"+", "-"} & set(equation.tokens) for equation in equations)
    for of_result in range(MOST_EXTRA + 1):
        for of_terms in range(MOST_EXTRA + 1):
            for more in _shared_out(len(terms), of_terms, added):
                tried = _with_digits(formatter, dict.fromkeys(results, of_result) | dict(zip(terms, more)))
                if all(closed(equation, tried, fact) for equation in equations):
                    return tried
    raise ClosesError(f"closes: {' and '.join(repr(equation.text) for equation in equations)}: no {MOST_EXTRA} more digits close this")


def _shared_out(count: int, most: int, added: bool) -> list[tuple[int, ...]]:
    """More digits for each of some terms, `most` for one at least, the fewest first. Terms that are `added` keep one number of decimals, as a column does."""
    if added or count > MOST_APART:
        return [(most,) * count]
    every = itertools.product(range(most + 1), repeat=count)
    return sorted((more for more in every if max(more, default=0) == most), key=lambda more: (sum(more), more))


def _with_digits(formatter: Formatter, more: dict[str, int]) -> Formatter:
    extra = dict(formatter.extra)
    for key, digits in more.items():
        if digits:
            extra[key] = extra.get(key, 0) + digits
    return replace(formatter, extra=extra)
