"""Rows of the page that says what changed since the last publication; flipped claims first."""

from __future__ import annotations

from collections import Counter

from markupsafe import Markup

from workflow.derive.fact import Fact
from workflow.derive.moved import VERDICTS, Move, compare
from workflow.derive.values import Values
from workflow.page.format import Formatter
from workflow.page.lookup import count_fact
from workflow.page.previous import Published
from workflow.page.splice import data_element

ORDER = ("claim flipped", "moved", "definition changed", "gone", "new", "within noise")
"""What a reader must see first; what stayed the same is counted, not listed."""


def slug(verdict: str) -> str:
    return verdict.replace(" ", "_")


def moves(previous: Published | None, values: Values) -> list[Move]:
    return compare(previous.values, values) if previous else []


def counts(found: list[Move]) -> dict[str, Fact]:
    """`moved.VERDICT` facts of the page about itself."""
    tally = Counter(move.verdict for move in found)
    return {
        f"moved.{slug(verdict)}": count_fact(f"moved.{slug(verdict)}", tally[verdict], "keys of this verdict, against the last publication")
        for verdict in VERDICTS
    }


def rows(found: list[Move], values: Values, formatter: Formatter, language: str, index: str, indexed: set[str]) -> list[dict]:
    """Listed moves as the template shows them. `index`: link to the index of numbers, `indexed`: keys it has."""
    listed = sorted((move for move in found if move.verdict in ORDER), key=lambda move: (ORDER.index(move.verdict), -size(move)))
    return [
        {
            "key": move.key,
            "href": f"{index}#{move.key}" if move.key in indexed else f"{index}#claim-{move.key}" if move.key in values.claims else "",
            "verdict": slug(move.verdict),
            "old": text(move.old),
            "new": text(move.new),
            "shown": _shown(move, values, formatter, language),
            "unit": move.unit,
            "change": change(move),
            "noise": "" if move.noise is None else f"± {move.noise:.4g}",
        }
        for move in listed
    ]


def _shown(move: Move, values: Values, formatter: Formatter, language: str) -> Markup:
    fact = values.get(move.key)
    return Markup(data_element(fact, formatter(fact, language))) if fact else Markup("")


def size(move: Move) -> float:
    """How many times its noise a number moved; relative where there is no noise."""
    if move.delta is None:
        return 0.0
    return abs(move.delta) / (move.noise or abs(move.old) or 1.0)


def change(move: Move) -> str:
    if move.delta is None:
        return ""
    return f"{100 * move.delta / abs(move.old):+.1f} %" if move.old else f"{move.delta:+.4g}"


def text(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.6g}"


def summary(found: list[Move]) -> str:
    """One line for the log."""
    tally = Counter(move.verdict for move in found)
    return ", ".join(f"{tally[verdict]} {verdict}" for verdict in (*ORDER, "same") if tally[verdict])
