"""Measure one sweep of a campaign: block size by content, input length, or requests in flight.

Writes sweep_X.csv, requests_X.csv, steps_X.csv (and trace.csv from `window`) with a manifest beside each; all files appear
together, or none does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from engine.bench import plans
from engine.bench.command import Run, closing, dry_run, flags, guarded, load, tables_of
from engine.bench.estimate import total_s
from engine.bench.progress import Progress
from engine.bench.stages import SWEEPS

PROGRAM = "engine.sweep"


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    campaign = load(args)
    blocks = plans.framed(plans.blocks_of(args.sweep, campaign.stage(args.sweep)))
    if args.dry_run:
        dry_run(f"{PROGRAM} --sweep {args.sweep}", campaign, blocks, args.json)
        return 0
    with Progress(f"sweep {args.sweep} of campaign {campaign.name}", total_s(blocks), args.log, args.quiet) as progress:
        run = Run.start(campaign, args.sweep, argv, args, progress)
        run.session.run(blocks)
        tables = tables_of(run.session, f"sweep_{args.sweep}", args.sweep)
        if args.sweep == "window":
            tables["trace.csv"] = ("trace", run.session.rows.trace)
        files = run.publish(args.out, tables, {})
        closing(run, files, args.json)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(
        f"python -m {PROGRAM}", "Measure one sweep of a campaign. Times are wall-clock; units stand in the column names of the CSVs."
    )
    parser.add_argument(
        "--sweep", required=True, choices=SWEEPS, help="window: block size by content; isl: input length; concurrency: requests in flight"
    )
    args = parser.parse_args(words)
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
