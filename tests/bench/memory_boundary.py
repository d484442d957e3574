"""Print where a hostile load runs out of memory, bisected anew on fresh boots, and by how much the boundaries differ.

`python -m tests.bench.memory_boundary --lane dspark` takes some minutes; it measures bytes, so a busy machine does no harm.
Exit code 1 when two bisections of the same lane differ by more than `MOST_SPREAD` of the budget.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engine.bench.boundary import hostile_requests, largest_fraction
from engine.config import WEIGHTS, EngineConfig, parse_size

MOST_SPREAD = 0.01
GRID = 0.002
"""Step of the bisections: far below what is allowed, or it would round a spread away."""
LOW, HIGH = 0.5, 1.0
NEAR = 0.02
"""Bisections after the first look this far to both sides of it, unless they end at the rim."""


def boundaries(locate: Callable[[float, float], float], count: int) -> list[float]:
    """`count` bisections: the first over LOW..HIGH, the others near it, and over everything again where that was too narrow."""
    found = [locate(LOW, HIGH)]
    for _ in range(count - 1):
        low, high = max(LOW, round(found[0] - NEAR, 6)), min(HIGH, round(found[0] + NEAR, 6))
        here = locate(low, high)
        found.append(locate(LOW, HIGH) if here in (low, high) and low > LOW and high < HIGH else here)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.memory_boundary", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lane", default="dspark")
    parser.add_argument("--block-size", type=int, default=3, metavar="N")
    parser.add_argument("--device-memory", default="256M", metavar="SIZE")
    parser.add_argument("--isl", type=int, default=2048, metavar="N", help="tokens of each hostile prompt, a whole prefill turn")
    parser.add_argument("--requests", type=int, default=2, metavar="N", help="hostile prompts, all at once")
    parser.add_argument("--boots", type=int, default=5, metavar="N", help="bisections")
    parser.add_argument("--weights", type=Path, default=WEIGHTS, metavar="DIR")
    args = parser.parse_args(argv)
    config = EngineConfig(
        weights=args.weights, lane=args.lane, block_size=args.block_size, device_memory=parse_size(args.device_memory), mem_fraction_static=LOW,
        chunked_prefill_size=args.isl, radix_cache=False, max_running_requests=8,
    )
    load = hostile_requests(args.requests, args.isl, 4)

    def locate(low: float, high: float) -> float:
        at, tried = largest_fraction(replace(config, mem_fraction_static=low), load, args.requests, low, high, GRID)
        last = next((why for fraction, why in reversed(tried) if why != "served"), "nothing failed")
        print(f"{args.lane}: {at:.3f} in {len(tried)} boots between {low} and {high}; {last}", flush=True)
        return at

    found = boundaries(locate, args.boots)
    spread = max(found) - min(found)
    print(f"{args.lane}: boundaries {', '.join(f'{at:.3f}' for at in found)}; spread {spread:.3f}, at most {MOST_SPREAD}")
    return 0 if spread <= MOST_SPREAD + 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
