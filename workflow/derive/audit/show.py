"""A formula as the arithmetic that a reader would write down, with the printed figures in it."""

from __future__ import annotations

import math

from workflow.derive.audit import cancel, expand
from workflow.derive.audit.formula import Apply, Compare, Count, Number, Reference
from workflow.derive.audit.interval import Interval
from workflow.derive.audit.tables import Published

STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "negative": 3, "power": 4}
SIGNS = {"+": " + ", "-": " \u2212 ", "*": " × ", "/": " / "}
LONGEST_LIST = 12


def digits(value: float, places: int = 5) -> str:
    """A computed number with `places` significant digits."""
    text = f"{value:.{places}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text


def span(interval: Interval) -> str:
    """`1.683–1.684`: as many decimals as say where the ends lie; one number when they are apart by no more than floats are."""
    width = interval.hi - interval.lo
    if width <= 1e-12 * max(abs(interval.lo), abs(interval.hi)):
        return digits(interval.middle)
    places = min(12, max(0, 1 - math.floor(math.log10(width))))
    return f"{interval.lo:.{places}f}–{interval.hi:.{places}f}"


def arithmetic(published: Published, node, strength: int = 0) -> str:
    """The text of a formula, read from the claim as written: other claims stand as their computed values."""
    match node:
        case Number():
            return node.text
        case Reference("v", (row, column)):
            return published.row(row).text(column)
        case Reference("rows", (stage, column)):
            texts = [text for name in published.stage(stage) if (text := published.row(name).text(column))]
            more = [] if len(texts) <= LONGEST_LIST else ["…"]
            return ", ".join(texts[:LONGEST_LIST] + more)
        case Reference("claim", (name,)):
            return computed(published, name)
        case Reference("claims", (group,)):
            return ", ".join(computed(published, claim.id) for claim in published.claims.values() if claim.set == group)
        case Compare(relation, left, right):
            return f"{arithmetic(published, left)} {relation} {arithmetic(published, right)}"
        case Count(items, relation, bound):
            limit = f", {relation} {arithmetic(published, bound)}" if bound is not None else ""
            return f"count of {arithmetic(published, items)}{limit}"
        case Apply("negative", (inner,)):
            return "\u2212" + arithmetic(published, inner, STRENGTH["negative"])
        case Apply("power", (base, power)):
            return f"{arithmetic(published, base, STRENGTH['power'] + 1)}^{power.text}"
        case Apply(name, (left, right)) if name in SIGNS:
            own = STRENGTH[name]
            text = arithmetic(published, left, own) + SIGNS[name] + arithmetic(published, right, own + (name in "-/"))
            return f"({text})" if own < strength else text
        case Apply(name, arguments):
            return f"{name}({', '.join(arithmetic(published, part) for part in arguments)})"
    raise ValueError(f"no text for {node}")


def computed(published: Published, name: str) -> str:
    value = cancel.middle(expand.expand(published, name).tree, lambda leaf: published.cell(*leaf.cell))
    return "?" if value is None else digits(value)
