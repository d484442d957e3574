"""What an import says about itself: what was left out and why, which checks were run and how they ended."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

FAULT, DROPPED, NOTE = "fault", "dropped", "note"
"""fault: part of a file could not be read; dropped: a value was read and left out; note: how a value is to be understood."""
SHOWN = 3
"""Places that one line names."""


@dataclass
class Remark:
    """One thing to say, with the places it holds for."""

    kind: str
    file: str
    what: str
    places: list[str]

    def __str__(self) -> str:
        places = [place for place in dict.fromkeys(self.places) if place]
        more = len(places) - SHOWN
        named = ", ".join(places[:SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f"{self.file}{': ' + named if named else ''}: {self.what}"


@dataclass
class Check:
    """One kind of checksum over all rows."""

    name: str
    run: int = 0
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    """The first places where it failed, with both numbers."""


KEPT = 1000
"""Places that are kept for one remark; of more only the number is known."""


@dataclass
class Report:
    """Collected while files are read."""

    remarks: dict[tuple[str, str, str], Remark] = field(default_factory=dict)
    checks: dict[str, Check] = field(default_factory=dict)
    unused: dict[tuple[str, str], Counter] = field(default_factory=dict)
    """(file, format) -> keys that have no column here, with the number of results that had them."""

    def say(self, kind: str, file: str, place: str, what: str) -> None:
        found = self.remarks.setdefault((kind, file, what), Remark(kind, file, what, []))
        if len(found.places) < KEPT:
            found.places.append(place)

    def check(self, name: str, place: str, holds: bool, detail: str) -> None:
        found = self.checks.setdefault(name, Check(name))
        found.run += 1
        if holds:
            found.passed += 1
        elif len(found.failed) < KEPT:
            found.failed.append(f"{place}: {detail}")

    def left(self, file: str, name: str, keys) -> None:
        self.unused.setdefault((file, name), Counter()).update(keys)

    def of(self, *kinds: str) -> list[Remark]:
        return [remark for remark in self.remarks.values() if remark.kind in kinds]

    @property
    def found_wrong(self) -> bool:
        return bool(self.of(FAULT)) or any(check.failed for check in self.checks.values())

    def as_dict(self) -> dict:
        return {
            "faults": [str(one) for one in self.of(FAULT)],
            "dropped": [str(one) for one in self.of(DROPPED)],
            "notes": [str(one) for one in self.of(NOTE)],
            "unused": {f"{file}: {name}": sorted(keys) for (file, name), keys in self.unused.items() if keys},
            "checks": {check.name: {"run": check.run, "passed": check.passed, "failed": check.failed[:20]} for check in self.checks.values()},
        }
