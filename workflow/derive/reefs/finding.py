"""What a reef detector returns, and where detectors are declared."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

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

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Reef:
    """A detector. Its docstring says what goes wrong; its second paragraph, what to do."""

    name: str
    severity: str
    function: Callable

    @property
    def title(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    @property
    def advice(self) -> str:
        parts = (inspect.getdoc(self.function) or "").split("\n\n")
        return " ".join(parts[1].split()) if len(parts) > 1 else ""

    def findings(self, rows) -> Iterator[Finding]:
        for where, evidence, count in self.function(rows):
            yield Finding(self.name, self.severity, where, evidence, self.advice, count)


REEFS: list[Reef] = []


def reef(name: str, severity: str) -> Callable:
    """Register a detector. It is given `Evidence` and yields (where, evidence, rows that show it)."""
    if severity not in SEVERITIES:
        raise ValueError(f"reef {name}: severity {severity!r} is none of {', '.join(SEVERITIES)}")

    def register(function: Callable[..., Iterable[tuple[str, str, int]]]) -> Callable:
        if any(one.name == name for one in REEFS):
            raise ValueError(f"reef {name} is declared twice")
        REEFS.append(Reef(name, severity, function))
        return function

    return register
