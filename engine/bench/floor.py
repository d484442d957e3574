"""What runs of one configuration differ by, read from A/A rows: what can be resolved, and when a probe of the machine has moved."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import csvio
from engine.bench.compare import Spread, detectable_ratio
from engine.bench.verdicts import TIME, finished, pair_values
from engine.csvio import Row

PROBE_SHARE = 0.95
# A tolerance outside these is no tolerance: below, the clock's own noise would repeat every cell; above, nothing would ever be repeated.
LEAST, MOST = 0.03, 0.25
SAME_LOAD = ("stage", "content", "dataset", "isl", "osl", "max_concurrency", "request_rate", "temperature", "mode", "num_prompts", "in_boot_pass")


@dataclass(frozen=True)
class Floor:
    """The A/A pairs of one search."""

    log_ratios: tuple[float, ...]
    """Of time per token, a pair of boots each."""
    probe_moves: tuple[float, ...]
    """Relative moves of the machine's probe over each A/A cell."""

    @classmethod
    def of(cls, points: Sequence[Row]) -> Floor | None:
        """From the points of a search; None where no A/A pair finished."""
        ratios = tuple(math.log(b / a) for _, _, a, b in pair_values(points, "aa", ("base-a", "base-b"), TIME).values())
        return cls(ratios, tuple(move for row in finished(points, "aa") if (move := probe_move(row)) is not None)) if ratios else None

    @property
    def spread(self) -> Spread:
        return Spread.pooled([self.log_ratios])

    @property
    def tolerance(self) -> float:
        """How far a probe may move before its cell is measured again: the largest A/A difference, or what the probe itself does over A/A cells.

        The rule is fixed here and sees no result of the cell it judges.
        """
        moves = sorted(self.probe_moves)
        usual = moves[min(len(moves) - 1, math.ceil(PROBE_SHARE * len(moves)) - 1)] if moves else 0.0
        return min(MOST, max(LEAST, usual, math.expm1(max(map(abs, self.log_ratios)))))


def probe_move(row: Row) -> float | None:
    """Largest relative move between the two probes around a cell; None where the cell has none."""
    shifts = [
        abs(math.log(after / before))
        for kind in ("copy", "compute")
        if (before := row.get(f"probe_{kind}_before_ms")) and (after := row.get(f"probe_{kind}_after_ms"))
    ]
    return math.expm1(max(shifts)) if shifts else None


def measured_floor(folders: Sequence[Path], host: str, threads: int) -> tuple[Floor, Path] | None:
    """The floor of the first folder whose search was measured on this host with as many threads; None where there is none that can be read."""
    for path in (folder / "search.csv" for folder in folders):
        try:
            points = csvio.read("points", path)
        except (OSError, csvio.TableError):
            continue
        found = Floor.of([row for row in points if (row["host"], row["threads"]) == (host, threads)])
        if found:
            return found, path
    return None


def against_plain(points: Sequence[Row]) -> list[list[float]]:
    """Log ratios of time per token, plain over every other arm of the same boot block and load: a group an arm and load."""
    plain: dict[tuple, float] = {}
    others: list[tuple[tuple, str, float]] = []
    for row in points:
        if row["status"] != "ok" or not row.get(TIME) or row["stage"] == "sentinel":
            continue
        load = tuple(row.get(name) for name in SAME_LOAD)
        if row["lane"] == "plain":
            plain[row["boot"], *load] = row[TIME]
        else:
            others.append(((row["boot"], *load), row["label"], row[TIME]))
    groups: dict[tuple, list[float]] = defaultdict(list)
    for key, label, value in others:
        if key in plain:
            groups[label, *key[1:]].append(math.log(plain[key] / value))
    return list(groups.values())


def achieved(points: Sequence[Row]) -> tuple[float, int] | None:
    """(ratio that this sweep's own repeats can resolve against plain decoding, boots of a comparison); None without repeats."""
    groups = against_plain(points)
    spread = Spread.pooled(groups)
    if not spread.df:
        return None
    n = Counter(map(len, groups)).most_common(1)[0][0]
    ratio = detectable_ratio(spread, n)
    return (ratio, n) if ratio else None
