"""What a claim holds against a bound never looks like the bound where it is not: both get the digits that tell them apart.

A lower bound of −2.95 points lies inside a margin of 3, and `−3.0` beside `3.0` would read as if it did not. Signs are left out of the comparison:
a margin is written without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from workflow.derive.fact import Fact
from workflow.derive.values import Values
from workflow.page.closes import MOST_EXTRA
from workflow.page.format import Formatter

BOUND = re.compile(r"threshold\.|.*\.(margin|bound)(\.|$)")
"""Keys of what was declared before measuring, for measured facts to be held against."""


def compared(values: Values) -> Iterator[tuple[Fact, Fact]]:
    """(bound, fact) of one kind and unit that the verdict of a claim rests on."""
    for claim in values.claims.values():
        known = [fact for key in claim.evidence if (fact := values.get(key)) is not None and fact.kind != "label"]
        for bound in (fact for fact in known if BOUND.match(fact.key)):
            yield from ((bound, fact) for fact in known if (fact.kind, fact.unit) == (bound.kind, bound.unit) and not BOUND.match(fact.key))


def apart(formatter: Formatter, pairs: Iterable[tuple[Fact, Fact]]) -> Formatter:
    """A formatter that shows no two facts of a pair alike unless they are equal to MOST_EXTRA further digits."""
    for pair in pairs:
        if abs(pair[0].value) == abs(pair[1].value):
            continue
        for more in range(MOST_EXTRA + 1):
            tried = replace(formatter, extra=formatter.extra | {fact.key: formatter.extra.get(fact.key, 0) + more for fact in pair if more})
            if len({tried.number(fact).copy_abs() for fact in pair}) == 2:
                formatter = tried
                break
    return formatter
