"""What the report side passes around: a cell of a measured file, a fact made from cells, a claim made from facts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

KINDS = ("ratio", "percent", "points", "duration", "rate", "count", "bytes", "length", "probability", "label")
"""What a value is, hence how it is written. `length` is an accept length (tokens a round)."""
STATUSES = ("measured", "imported", "transcribed", "computed", "simulated")
"""From the strongest to the weakest; a fact is as weak as its weakest parent."""
VERDICTS = ("holds", "fails", "unresolved", "missing")


def weakest(statuses) -> str:
    """The weakest of some statuses; nothing at all counts as measured."""
    return max(statuses, key=STATUSES.index, default=STATUSES[0])


@dataclass(frozen=True)
class Cell:
    """Where a value was read: lines of one column of one file.

    `row` lists line numbers as an editor counts them (the header is line 1), e.g. `2-5,9`; for a manifest it is the path of the
    field. `where` says which rows these are, e.g. `lane=dspark block_size=3`.
    """

    file: str
    row: str
    column: str
    where: str = ""


@cache
def names(kind: type) -> frozenset[str]:
    """Names of a dataclass's fields."""
    return frozenset(field.name for field in fields(kind))


@dataclass(frozen=True)
class Fact:
    """One value of the report and everything that stands behind it.

    `value` is in `unit` (a pint expression; empty: dimensionless); `percent` and `points` are written times 100 already.
    Missing: `value` is None and `reason` says why. `lo`, `hi`: bootstrap interval, None where the data allow none.
    `n`: boots behind the least repeated leaf. `repeats`: the value recomputed from each boot alone.
    """

    key: str
    value: float | int | str | None
    unit: str = ""
    kind: str = "ratio"
    status: str = "measured"
    n: int = 0
    lo: float | None = None
    hi: float | None = None
    formula: str = ""
    parents: tuple[str, ...] = ()
    source: tuple[Cell, ...] = ()
    reason: str = ""
    repeats: tuple[float, ...] = ()
    resampled: str = ""
    """What the interval was drawn from, e.g. `3 boots, 12 requests`."""

    @property
    def missing(self) -> bool:
        return self.value is None

    def to_json(self) -> dict:
        """The record of `values.json`; the key is the name of the record there."""
        data = {name: value for name, value in vars(self).items() if name != "key"}
        return data | {"parents": list(self.parents), "repeats": list(self.repeats), "source": [vars(cell) for cell in self.source]}

    @classmethod
    def from_json(cls, key: str, data: dict) -> Fact:
        known = names(cls)
        cells = tuple(Cell(**cell) for cell in data.get("source", ()))
        rest = {name: value for name, value in data.items() if name in known and name != "source"}
        return cls(key, source=cells, **{name: tuple(value) if isinstance(value, list) else value for name, value in rest.items()})


@dataclass(frozen=True)
class Claim:
    """One statement about facts, with its verdict.

    `margin` is how far the data stand on the holding side (negative: on the failing side) and `noise` how far they may be off, both in the
    claim's own measure (`measure`, e.g. `log ratio`). `holds`: margin > noise; `fails`: margin < -noise; else `unresolved`.
    """

    key: str
    verdict: str
    kind: str
    statement: str = ""
    margin: float | None = None
    noise: float | None = None
    measure: str = ""
    evidence: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    reason: str = ""
    says: tuple[str, ...] = ()
    """Classes of direction and rank words that a text about it may use; `holds.win`: in that variant alone."""

    def to_json(self) -> dict:
        """The record of `claims.json`; the key is the name of the record there."""
        data = {name: value for name, value in vars(self).items() if name != "key"}
        return data | {name: list(data[name]) for name in ("evidence", "thresholds", "says")}

    @classmethod
    def from_json(cls, key: str, data: dict) -> Claim:
        known = names(cls)
        return cls(key, **{name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name in known})
