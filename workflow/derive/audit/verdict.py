"""One published claim to one verdict. The rules go by the kind of a claim and by what its formula is, never by which claim it is.

consistent    the printed figures, put into the formula, give what is printed
edge          they do not, but figures that round to the printed ones would: rounding alone may be the reason
inconsistent  no figures that round to the printed ones give what is printed
contradicts   another claim of the same text says otherwise, and that one stands
identity      inputs cancel: what is called a prediction, or a product, is made of what it is compared with
unverifiable  something that the formula needs was not published
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

from workflow.derive.audit import cancel, enclosure, printed, show
from workflow.derive.audit.expand import Expansion, elements, expand
from workflow.derive.audit.formula import Compare, references
from workflow.derive.audit.interval import Interval
from workflow.derive.audit.printed import PrintedError, Unit
from workflow.derive.audit.tables import CLAIMS, Claim, Published, Unpublished
from workflow.derive.schema import SchemaError

VERDICTS = ("consistent", "edge", "inconsistent", "contradicts", "identity", "unverifiable")
WRONG = ("inconsistent", "contradicts", "identity")
PREDICTIONS = ("prediction", "product")
"""Kinds that present a result as following from factors; with inputs that cancel, nothing follows."""
TOUCH = 1e-9
"""Neighbours that share only the end of their intervals are told apart; ends are off by floats, relative to the list."""
TRENDS = {"falls": -1, "decreases": -1, "rises": 1, "grows": 1, "increases": 1, "flat": 0}


@dataclass(frozen=True)
class Finding:
    """The verdict on one claim, with the arithmetic in `why`. `low` and `high` are in the unit of the printed figure."""

    id: str
    verdict: str
    low: float | None
    high: float | None
    published: str
    why: str
    other: str = ""
    """The claim that a `contradicts` names."""


def examine(published: Published, claim: Claim) -> Finding:
    """One claim by its own formula."""
    try:
        expansion = expand(published, claim.id)
        finding = _by_kind(published, claim, expansion)
    except Unpublished as error:
        return Finding(claim.id, "unverifiable", None, None, claim.published, f"{CLAIMS} line {claim.line}: {error}")
    except ValueError as error:
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"{published.folder / CLAIMS}: line {claim.line} ({claim.id}): {error}") from None
    return replace(finding, why="; ".join([finding.why, *expansion.notes]))


def _by_kind(published: Published, claim: Claim, expansion: Expansion) -> Finding:
    if claim.kind == "languages":
        return languages(published, claim, expansion)
    if claim.kind == "monotone":
        return trend(published, claim, expansion)
    if isinstance(expansion.tree, Compare):
        return statement(published, claim, expansion)
    return figure(published, claim, expansion)


def figure(published: Published, claim: Claim, expansion: Expansion) -> Finding:
    """A number: its enclosure against the interval that is printed."""
    cells, unit = cells_of(published), Unit(claim.unit)
    exact = claim.kind == "count"
    said = _said(published, claim, exact)
    computed = enclosure.enclose(expansion.tree, cells)
    middle = cancel.middle(expansion.tree, cells)
    if middle is None or not computed.bounded:
        why = f"{show.arithmetic(published, claim.tree)} has no bounded value at the printed precision"
        return Finding(claim.id, "unverifiable", None, None, claim.published, why)
    shown, centre = unit.to_printed(computed), unit.to_printed(Interval.point(middle)).middle
    why = f"{show.arithmetic(published, claim.tree)} = {_value(middle, computed, claim.unit, centre, shown)}"
    verdict = verdict_of(shown, centre, said, unit.side)
    why += {"consistent": f", printed {claim.published}"}.get(
        verdict, f"; printed {claim.published} stands for {_meaning(said, unit.side)}"
    )
    finding = Finding(claim.id, verdict, shown.lo, shown.hi, claim.published, why)
    return circular(published, claim, expansion, finding)


def verdict_of(computed: Interval, middle: float, said: Interval, side: int) -> str:
    """Compare an enclosure and the value at the printed figures with what is printed: equal (0), at most (-1) or at least (1)."""
    if side:
        computed, middle, said = (computed, middle, said) if side < 0 else (-computed, -middle, -said)
        if middle <= said.middle:
            return "consistent"
        return "edge" if computed.lo <= said.hi else "inconsistent"
    if said.contains(middle):
        return "consistent"
    return "edge" if computed.meets(said) else "inconsistent"


def circular(published: Published, claim: Claim, expansion: Expansion, finding: Finding) -> Finding:
    """Turn the finding into `identity` where inputs cancel and the claim draws something from them; else note it."""
    cells = cells_of(published)
    gone = cancel.cancelled(expansion.tree, cells)
    if claim.kind in PREDICTIONS and gone:
        also = "" if finding.verdict in ("consistent", "edge") else ", and even so it does not give what is printed"
        return replace(finding, verdict="identity", why=f"{_names(gone)} in its own formula{also}: {finding.why}")
    for reference in references(claim.tree):
        if reference.name == "claim" and published.claims[reference.texts[0]].kind in PREDICTIONS:
            prediction = expand(published, reference.texts[0]).tree
            inputs = cancel.moving(prediction, cells)
            if inputs and claim.tree != reference and cancel.inert(expansion.tree, cells, inputs):
                why = f"no input of {reference.texts[0]} moves it: the comparison tests nothing: {finding.why}"
                return replace(finding, verdict="identity", why=why)
    if gone and not cancel.moving(expansion.tree, cells):
        return replace(finding, verdict="identity", why=f"every input cancels: {finding.why}")
    if gone:
        return replace(finding, why=f"{finding.why} ({_names(gone)} in it)")
    return finding


def statement(published: Published, claim: Claim, expansion: Expansion) -> Finding:
    """A comparison that must be true; a superlative also carries the figure of its subject."""
    tree, cells = expansion.tree, cells_of(published)
    holds = enclosure.truth(tree, cells)
    why = f"{show.arithmetic(published, claim.tree)} is {'true' if holds else 'not decided at the printed precision' if holds is None else 'false'}"
    verdict = "consistent" if holds else "edge" if holds is None else "inconsistent"
    try:
        said = printed.interval(claim.published)
    except PrintedError:
        return Finding(claim.id, verdict, None, None, claim.published, why)
    subject = Unit(claim.unit).to_printed(enclosure.enclose(tree.left, cells))
    if verdict != "inconsistent" and not subject.meets(said):
        verdict, why = "inconsistent", f"{why}, but the figure is {show.span(subject)}, not {claim.published}"
    return Finding(claim.id, verdict, subject.lo, subject.hi, claim.published, why)


def trend(published: Published, claim: Claim, expansion: Expansion) -> Finding:
    """A list that is said to rise, to fall, or to stay: every step at the printed precision."""
    words = claim.published.lower().split()
    direction = next((TRENDS[word] for word in words if word in TRENDS), None)
    if direction is None:
        raise ValueError(f"published {claim.published!r} is no trend; expected one of {', '.join(TRENDS)}")
    cells = cells_of(published)
    values = [enclosure.enclose(part, cells) for part in elements(expansion.tree)]
    listed = show.arithmetic(published, claim.tree)
    low, high = min(v.lo for v in values), max(v.hi for v in values)
    if direction == 0:
        together = max(v.lo for v in values) <= min(v.hi for v in values)
        verdict = "consistent" if together else "inconsistent"
        why = f"{listed}: {'one value at the printed precision' if together else 'not one value'}"
        return Finding(claim.id, verdict, low, high, claim.published, why)
    steps = [(b - a) if direction > 0 else (a - b) for a, b in itertools.pairwise(values)]
    wrong = next((i for i, step in enumerate(steps) if step.hi < 0), None)
    if wrong is not None:
        a, b = (show.digits(values[i].middle) for i in (wrong, wrong + 1))
        turned = "rises" if direction < 0 else "falls"
        return Finding(claim.id, "inconsistent", low, high, claim.published, f"{listed}: from {a} to {b} it {turned}")
    open_ = any(step.lo < -TOUCH * max(abs(low), abs(high)) for step in steps)
    why = f"{listed}: {'a step is too small for the printed precision' if open_ else 'every step'}"
    return Finding(claim.id, "edge" if open_ else "consistent", low, high, claim.published, why)


def languages(published: Published, claim: Claim, expansion: Expansion) -> Finding:
    """The same count in several languages: the words must agree, and agree with the formula."""
    said = printed.cardinals(claim.published)
    cells = cells_of(published)
    if isinstance(expansion.tree, Compare):
        holds = enclosure.truth(expansion.tree, cells)
    else:
        counted = enclosure.enclose(expansion.tree, cells)
        holds = all(number is None or counted.contains(number) for number in said)
    known = [number for number in said if number is not None]
    agree = len(set(known)) <= 1 and holds is not False
    text = " and ".join(part.strip() for part in claim.published.split("/"))
    verdict = ("consistent" if len(known) == len(said) and holds else "edge") if agree else "inconsistent"
    why = f"{text}: {'the same count' if agree else 'not the same count'} ({show.arithmetic(published, claim.tree)})"
    return Finding(claim.id, verdict, None, None, claim.published, why)


def cells_of(published: Published):
    """The interval of a leaf."""
    return lambda leaf: published.cell(*leaf.cell)


def _said(published: Published, claim: Claim, exact: bool) -> Interval:
    try:
        return printed.interval(claim.published, exact)
    except PrintedError as error:
        raise SchemaError(f"{published.folder / CLAIMS}: line {claim.line}, column published: {error}") from None


def _value(middle: float, computed: Interval, unit: str, centre: float, shown: Interval) -> str:
    own = f"{show.digits(middle)}" + ("" if show.span(computed) == show.digits(middle) else f" ({show.span(computed)})")
    if unit in ("% higher", "% lower", "% of"):
        return f"{own}, that is {show.digits(centre, 4)} {unit}"
    return own + ("" if unit in ("x", "") else f" {unit.removeprefix('% ') if unit.startswith('% ') else unit}")


def _meaning(said: Interval, side: int) -> str:
    limits = {-1: f"at most {show.digits(said.middle)}", 1: f"at least {show.digits(said.middle)}"}
    return limits.get(side) or (show.digits(said.middle) + " exactly" if said.lo == said.hi else show.span(said))


def _names(cells: list[tuple[str, str]]) -> str:
    """The columns of cancelling cells (their rows, where every figure stands in one column), with the verb."""
    columns = list(dict.fromkeys(column if column != "value" else row for row, column in cells))
    return " and ".join(columns) + (" cancels" if len(columns) == 1 else " cancel")
