"""What a format yields: a result as a row of points, a score as a single figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

Cell = str | int | float | None


@dataclass
class Result:
    """One measured point in our columns (`points.schema.json`); None and absent columns are unknown."""

    place: str
    """Where it stood: `line 3`, `benchmarks[0]`."""
    columns: dict[str, Cell]
    requests: Collection[dict[str, Cell]] = field(default_factory=list)
    """Its requests in the columns of `requests.schema.json`, run_id left out."""
    computed: set[str] = field(default_factory=set)
    """Columns that were computed here from other numbers of the file, so that no check may rest on them."""
    per_position: list[float] = field(default_factory=list)
    """Share of drafts accepted at each position, unconditional."""
    accept_rate: float | None = None
    """accepted / drafted as the file says it."""
    family: str | None = None
    """Points file it belongs to (`isl` for sweep_isl.csv), where that is known."""


@dataclass(frozen=True)
class Figure:
    """One row of figures.csv."""

    place: str
    id: str
    value: float
    unit: str | None
    note: str


@dataclass
class Seen:
    """What a file says about tool, server, model and date; collected over its results."""

    tools: set[str] = field(default_factory=set)
    """Tool, with its version where the file says it."""
    servers: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    dates: set[str] = field(default_factory=set)
    """YYYY-MM-DD."""
