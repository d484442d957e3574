"""`python -m engine.sps`: steps per second by positions verified, from measured step rows, for `--sps-table`."""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

from engine.arguments import Parser
from engine.csvio import TableError, publish, read


def table(rows: list[dict]) -> list[tuple[int, float]]:
    """(positions, steps per second) of the decode steps and rounds, positions rising.

    The median step of each count, made to fall: a count that happened to be measured faster than a smaller one takes
    the smaller one's rate, so that noise does not end the admission early.
    """
    by_positions: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row["kind"] in ("decode", "round") and row["positions"]:
            by_positions[row["positions"]].append(row["step_ms"])
    found: list[tuple[int, float]] = []
    for positions, times in sorted(by_positions.items()):
        rate = 1e3 / statistics.median(times)
        found.append((positions, round(min(rate, found[-1][1]) if found else rate, 3)))
    return found


def main(argv: list[str] | None = None) -> int:
    p = Parser(prog="python -m engine.sps", description="Write the table a length scheduler needs from a steps CSV.")
    p.add_argument("--steps", type=Path, required=True, metavar="F", help="steps_X.csv of a campaign, best of a sweep over batch sizes")
    p.add_argument("--out", type=Path, required=True, metavar="F", help="JSON list of [positions in a step, steps per second]")
    args = p.parse_args(argv)
    try:
        rows = read("steps", args.steps)
    except (OSError, TableError) as fault:
        print(f"engine.sps: --steps {args.steps}: {fault.strerror if isinstance(fault, OSError) else fault}", file=sys.stderr)
        return 2
    found = table(rows)
    if not found:
        print(f"engine.sps: --steps {args.steps}: holds no decode step or round with positions", file=sys.stderr)
        return 2
    publish({args.out: (json.dumps(found) + "\n").encode("utf8")})
    print(f"{args.out}: {len(found)} counts of positions, {found[0][1]} to {found[-1][1]} steps a second")
    return 0


if __name__ == "__main__":
    sys.exit(main())
