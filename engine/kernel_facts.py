"""Compile every Triton kernel for four GPUs, without one, and write what the binaries say: the stage `kernels` of a campaign.

Writes kernels.csv (a row a kernel and target) and predicates.csv (which test sends which tensor where) with their manifests.
Nothing is timed, so no engine is booted, no processor pinned and no journal kept: of the flags that all measuring commands
take, --weights, --cpu, --journal and --resume have no effect here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec

from engine import csvio
from engine.bench import unbooted
from engine.bench.command import flags, guarded, load, writable
from engine.bench.stages import Kernels
from engine.bench.unbooted import Begun
from engine.config import ConfigError
from engine.csvio import Row
from engine.uncollected import uncollected

PROGRAM = "engine.kernel_facts"
STAGE = "kernels"
WITHOUT_TRITON = "triton is not installed here, so no kernel was compiled"


@dataclass(frozen=True)
class Tables:
    """Rows of both files, and why nothing was compiled where nothing was."""

    kernels: list[Row]
    predicates: list[Row]
    skipped: str | None = None


def collect(stage: Kernels, jobs: int) -> Tables:
    """Compile. Without triton the one row of kernels.csv is a skipped one. ConfigError on an unknown operator or target."""
    with uncollected():
        from kernels.facts import TARGETS
        from kernels.predicates import all_tables
        from kernels.registry import operators

    for known, given, name in ((operators(), stage.operators, "operators"), (tuple(TARGETS), stage.targets, "targets")):
        for one in given:
            if one not in known:
                raise ConfigError(f"measure.stages.{STAGE}.{name}: {one!r} is unknown; there are: {', '.join(known)}")
    predicates = [asdict(row) for row in all_tables()]
    if find_spec("triton") is None:
        return Tables([csvio.skipped(STAGE, WITHOUT_TRITON)], predicates, WITHOUT_TRITON)
    from kernels.facts import collect as compile_all

    rows = compile_all(stage.targets or tuple(TARGETS), stage.operators, jobs)
    return Tables([asdict(row) for row in rows], predicates)


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    campaign = load(args)
    stage = campaign.stage(STAGE)
    jobs = args.jobs or os.cpu_count() or 1
    if why := unbooted.cannot(campaign, STAGE):
        unbooted.skip(campaign, STAGE, args, argv, PROGRAM, why)
        return 0
    if args.dry_run:
        print(f"{PROGRAM}, preset {campaign.preset}: operators {', '.join(stage.operators) or 'all'}, no boots, two minutes at the most")
        return 0
    writable(args.out)
    begun = Begun.now()
    tables = collect(stage, jobs)
    rows = {"kernels": tables.kernels, "predicates": tables.predicates}
    files = unbooted.publish(campaign, STAGE, argv, args.out, rows, jobs, begun)
    binaries = 0 if tables.skipped else len(tables.kernels)
    said = f"{PROGRAM}: {binaries} binaries, {len(tables.predicates)} answers of predicates" + (f"; {tables.skipped}" if tables.skipped else "")
    if args.log:
        args.log.parent.mkdir(parents=True, exist_ok=True)
        args.log.write_text(said + "\n", "utf8")
    if args.json:
        print(json.dumps({"files": [str(path) for path in files], "binaries": binaries, **({"skipped": tables.skipped} if tables.skipped else {})}))
    elif not args.quiet:
        print(said)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(f"python -m {PROGRAM}", "Compile the Triton kernels ahead of time for four GPUs and write registers, spills and instructions.")
    parser.add_argument("--jobs", type=int, metavar="N", help="compiler processes; one a processor where absent")
    args = parser.parse_args(words)
    if args.jobs is not None and args.jobs < 1:
        parser.error(f"--jobs {args.jobs}: expected at least 1")
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
