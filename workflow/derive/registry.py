"""Where facts and claims are declared: one plain function each, registered under its key.

A key may hold fields, `window.{content}.g{gamma}.speedup`; the function is then called once for each combination of the
fields' values and is given them as arguments. What a function reads through its first argument is recorded as parents and
sources: nothing is typed twice.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workflow.derive.fact import KINDS, STATUSES

CONTENTS = ("arith", "code", "en", "zh")
DECLARED = {
    "content": (*CONTENTS, "all"),
    "one_content": CONTENTS,
    "gamma": (1, 2, 3, 4, 5, 6, 7),
    "arm": ("g1", "g2", "g3", "g4", "g5", "g6", "g7", "mtp", "dflash", "lookup"),
    "width": (1, 2, 3, 4, 5, 6, 7, 8),
    "concurrency": (1, 2, 4, 8, 16, 32),
    "isl": (64, 128, 256, 512, 1024, 2048, 4096),
    "lane": ("plain", "dspark"),
    "slot": (1, 2, 3, 4, 5, 6, 7),
    "osl": (),
    "level": (),
    "cap": (),
    "arrival": (),
    "comparison": (1, 2, 3, 4, 5, 6, 7, 8),
    "audited": (),
    "observation": (),
    **dict.fromkeys(
        (
            "figure_s",
            "figure_ms",
            "figure_min",
            "figure_rate",
            "figure_tokens",
            "figure_ratio",
            "figure_percent",
            "figure_points",
            "figure_plain",
            "figure_count",
        ),
        (),
    ),
}
"""Values of the fields that every campaign has as keys, measured or not; a campaign adds the ones it measured."""

CLAIM_KINDS = ("direction", "ratio", "superlative", "monotone", "flat", "count", "sum", "product", "bound")
WINS = ("direction", "superlative")
"""Kinds that say something is better than something: they may rest on measured, imported or transcribed facts only."""


class DefinitionError(ValueError):
    """A registered function that does not do what its declaration says; the message names key and function."""


@dataclass(frozen=True)
class Definition:
    """One registered function and what was declared about it."""

    template: str
    function: Callable
    kind: str
    unit: str = ""
    """Unit of a fact; of a claim, what its margin measures."""
    status: str = "measured"
    domains: tuple[tuple[str, tuple], ...] = ()
    prediction: bool = False
    """Whether a fact is the distance of a prediction from what was measured, and so must be able to be large."""
    says: tuple[str, ...] = ()
    """Classes of direction and rank words (templates/words.yaml) that a text about the claim may use; `holds.win`: in that variant alone."""

    @functools.cached_property
    def fields(self) -> list[str]:
        return re.findall(r"\{(\w+)\}", self.template)

    @functools.cached_property
    def formula(self) -> str:
        """First paragraph of the docstring, on one line."""
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    @property
    def place(self) -> str:
        return f"{self.function.__module__}.{self.function.__name__}"

    def expand(self, domains: dict[str, tuple]) -> Iterator[tuple[str, dict]]:
        """(key, arguments) of every combination of the fields."""
        own = domains | dict(self.domains)
        for values in itertools.product(*(own[name] for name in self.fields)):
            arguments = dict(zip(self.fields, values))
            yield self.template.format(**arguments), arguments


FACTS: list[Definition] = []
CLAIMS: list[Definition] = []


def fact(template: str, *, kind: str, unit: str = "", status: str = "measured", prediction: bool = False, **domains: tuple) -> Callable:
    """Register a function `(read, **fields) -> Sample | number | text` as the fact(s) `template`.

    `unit` is what the result is converted to, and must be commensurate with; `status` is the strongest that the fact can be. A `prediction`
    (its gap to the measurement) fails the build when its inputs cancel.
    """
    if kind not in KINDS or status not in STATUSES:
        raise ValueError(f"{template}: kind {kind!r} or status {status!r} is not one of {KINDS} and {STATUSES}")
    if template.endswith(".gap") and not prediction:
        raise ValueError(f"{template}: a gap is that of a prediction; declare prediction=True, so that an identity cannot pass for one")

    def register(function: Callable) -> Callable:
        FACTS.append(Definition(template, function, kind, unit, status, tuple(domains.items()), prediction))
        return function

    return register


def claim(template: str, *, kind: str, measure: str = "log ratio", says: tuple[str, ...] = (), **domains: tuple) -> Callable:
    """Register a function `(read, **fields) -> margin` or `-> (margin, noise)` as the claim(s) `template`.

    A margin above 0 holds, below 0 fails. It is a dimensionless Sample or a number, in `measure` (words). A noise that the
    function names itself is a least one. `says`: the direction and rank words that its texts may use, by class; the page refuses others.
    """
    if kind not in CLAIM_KINDS:
        raise ValueError(f"{template}: kind {kind!r} is not one of {CLAIM_KINDS}")

    def register(function: Callable) -> Callable:
        CLAIMS.append(Definition(template, function, kind, measure, domains=tuple(domains.items()), says=says))
        return function

    return register


def expand(definitions: list[Definition], domains: dict[str, tuple]) -> dict[str, tuple[Definition, dict]]:
    """Key -> (definition, arguments). Raises DefinitionError when two functions claim one key."""
    found: dict[str, tuple[Definition, dict]] = {}
    for definition in definitions:
        for key, arguments in definition.expand(domains):
            if key in found:
                raise DefinitionError(f"{key}: registered by {found[key][0].function.__name__} and by {definition.function.__name__}")
            found[key] = definition, arguments
    return found
