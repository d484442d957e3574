"""What a reef detector returns, and where detectors are declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from workflow.derive.reefs.pair import UNITS, Pair

BLOCKING, WARNING, NOTE = "blocking", "warning", "note"
SEVERITIES = (BLOCKING, WARNING, NOTE)


@dataclass(frozen=True)
class Finding:
    """One reef in one place."""

    reef: str
    severity: str
    """blocking: no verdict may rest on these rows; warning: read them with care; note: worth knowing."""
    where: str
    """File and lines, or a manifest's field."""
    evidence: str
    advice: str
    count: int = 1
    """Rows that show it."""
    pairs: tuple[Pair, ...] = ()
    """Two numbers of each of these rows, where the hazard shows in two."""

    def as_dict(self) -> dict:
        return {name: value for name, value in vars(self).items() if name != "pairs"}


@dataclass(frozen=True)
class Reef:
    """A detector. Its docstring says what goes wrong; its second paragraph, what to do."""

    name: str
    severity: str
    function: Callable
    pair: str = ""
    """Unit of the two numbers in which it shows (a name of UNITS); empty where it does not show in two."""

    @property
    def title(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    @property
    def advice(self) -> str:
        parts = (inspect.getdoc(self.function) or "").split("\n\n")
        return " ".join(parts[1].split()) if len(parts) > 1 else ""

    def findings(self, rows) -> Iterator[Finding]:
        for where, evidence, count, *pairs in self.function(rows):
            yield Finding(self.name, self.severity, where, evidence, self.advice, count, *(tuple(known) for known in pairs))


REEFS: list[Reef] = []


def reef(name: str, severity: str, pair: str = "") -> Callable:
    """Register a detector. It is given `Evidence` and yields (where, evidence, rows that show it), with a `pair` also the pairs of these rows."""
    if severity not in SEVERITIES:
        raise ValueError(f"reef {name}: severity {severity!r} is none of {', '.join(SEVERITIES)}")
    if pair and pair not in UNITS:
        raise ValueError(f"reef {name}: pair {pair!r} is none of {', '.join(UNITS)}")

    def register(function: Callable[..., Iterable[tuple]]) -> Callable:
        if any(one.name == name for one in REEFS):
            raise ValueError(f"reef {name} is declared twice")
        REEFS.append(Reef(name, severity, function, pair))
        return function

    return register
