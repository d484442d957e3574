"""Measure one sweep of a campaign.

Writes sweep_X.csv, requests_X.csv, steps_X.csv (and trace.csv from `window`; verify_cost has no requests) with a manifest beside
each; all files appear together, or none does.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine import csvio
from engine.arguments import file_path
from engine.backends.base import TRACE
from engine.bench import cost_sweep, gather, plans, unbooted
from engine.bench.campaign import Campaign
from engine.bench.cells import Block
from engine.bench.command import Run, closing, dry_run, flags, guarded, load, tables_of, writable
from engine.bench.compare import detectable_ratio
from engine.bench.estimate import command_s
from engine.bench.floor import achieved, measured_floor
from engine.bench.part import Part
from engine.bench.progress import Progress
from engine.bench.stages import SWEEPS
from engine.bench.verdicts import TIME
from engine.config import ConfigError

PROGRAM = "engine.sweep"
UNTIMED = ("capacity",)
"""Sweeps that compare no times, so that no difference of times is declared."""


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    campaign = load(args)
    if args.sweep == "verify_cost":
        if args.part or args.gather:
            raise ConfigError("--part, --gather: verify_cost is timed in one process and has no parts")
        return verify_cost(campaign, args, argv)
    found = plans.blocks_of(args.sweep, campaign.stage(args.sweep))
    if args.gather:
        return gathered(campaign, args, argv, found)
    blocks = args.part.blocks(found) if args.part else plans.framed(found)
    if args.dry_run:
        dry_run(f"{PROGRAM} --sweep {args.sweep}", campaign, blocks, args.json)
        return 0
    with Progress(f"sweep {args.sweep} of campaign {campaign.name}", command_s(blocks), args.log, args.quiet) as progress:
        run = Run.start(campaign, args.sweep, argv, args, progress, (args.part.name, args.part.first) if args.part else ("", 0))
        section = declare(run, args.out)
        run.session.run(blocks)
        if args.part:
            closing(run, [gather.write_part(run, args.part, args.out, section)], args.json)
            return 0
        publish(run, section, args)
    return 0


def publish(run: Run, section: dict, args: argparse.Namespace, instead: dict | None = None) -> None:
    """The files of a sweep whose blocks are all there."""
    resolved(run, section)
    tables = tables_of(run.session, f"sweep_{args.sweep}", args.sweep)
    extra = {f"sweep_{args.sweep}.csv": {"detectable": section}}
    if args.sweep == "window":
        rows = run.session.rows.trace
        if TRACE not in run.session.capabilities:
            why = f"skipped: backend {run.campaign.backend} cannot do trace: it does not hand out the rounds of a request"
            rows = [csvio.skipped("trace", why, campaign=run.campaign.name)]
        tables["trace.csv"] = ("trace", rows)
    files = run.publish(args.out, tables, extra, instead)
    closing(run, files, args.json)


def gathered(campaign: Campaign, args: argparse.Namespace, argv: Sequence[str], blocks: Sequence[Block]) -> int:
    """The files of a sweep from the parts that other jobs measured; nothing is measured here."""
    campaign = campaign.at(args.sweep)
    parts = gather.read_parts(args.gather, campaign, args.sweep)
    writable(args.out)
    with Progress(f"parts of sweep {args.sweep} of campaign {campaign.name}", 0.0, args.log, args.quiet) as progress:
        progress.begin()
        run = gather.gather(campaign, args.sweep, blocks, parts, argv, progress)
        publish(run, parts[0].head["detectable"], args, gather.about(parts))
    return 0


def declare(run: Run, out: Path) -> dict:
    """Before measuring: what this machine's A/A spread lets the planned repeats resolve, and when a cell is repeated."""
    session, repeats = run.session, run.campaign.stage(run.stage).repeats
    if run.stage in UNTIMED:
        return {"probe_tolerance": session.tolerance}
    found = measured_floor((out, run.campaign.path.parent), session.machine.host, run.campaign.threads)
    if found is None:
        session.progress.say(f"{run.stage}: no base-against-base pairs of this machine yet, so what can be resolved is known only afterwards")
        return {"metric": TIME, "repeats": repeats, "planned": None, "probe_tolerance": session.tolerance}
    floor, path = found
    session.tolerate(floor)
    planned = detectable_ratio(floor.spread, repeats)
    if planned:
        session.progress.say(
            f"{run.stage}: differences below {100 * (planned - 1):.1f} % cannot be resolved with {repeats} repeats ({len(floor.log_ratios)} A/A pairs of {path.name})"
        )
    return {"metric": TIME, "repeats": repeats, "planned": planned, "probe_tolerance": session.tolerance}


def resolved(run: Run, section: dict) -> None:
    """After measuring: what the sweep's own repeats could resolve."""
    if run.stage in UNTIMED:
        return
    found = achieved(run.session.rows.points)
    section["achieved"] = found[0] if found else None
    if found:
        run.session.progress.say(f"{run.stage}: differences from {100 * (found[0] - 1):.1f} % against plain decoding could be resolved ({found[1]} boots)")


def verify_cost(campaign: Campaign, args: argparse.Namespace, argv: Sequence[str]) -> int:
    """The one sweep without requests: forwards of the target and parts of a step, timed in one process."""
    stage = campaign.stage("verify_cost")
    if why := unbooted.cannot(campaign, "verify_cost"):
        unbooted.skip(campaign, "verify_cost", args, argv, f"{PROGRAM} --sweep verify_cost", why)
        return 0
    cost_sweep.check(campaign.path, stage)
    seconds = command_s([plans.sentinel("start")]) + cost_sweep.estimate_s(stage)
    if args.dry_run:
        cost_sweep.dry_run(f"{PROGRAM} --sweep verify_cost", campaign, stage, seconds, args.json)
        return 0
    with Progress(f"sweep verify_cost of campaign {campaign.name}", seconds, args.log, args.quiet) as progress:
        run = Run.start(campaign, "verify_cost", argv, args, progress)
        run.session.run([plans.sentinel("start")])
        rows = cost_sweep.measure(run.session, stage)
        files = run.publish(args.out, {"sweep_verify_cost.csv": ("verify_cost", rows)}, {})
        closing(run, files, args.json)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(
        f"python -m {PROGRAM}", "Measure one sweep of a campaign. Times are wall-clock; units stand in the column names of the CSVs."
    )
    parser.add_argument(
        "--sweep",
        required=True,
        choices=SWEEPS,
        help="window: block size by content; isl, osl: input and output length; concurrency: requests in flight; rate: arrivals a second; content: acceptance by text;"
        " acceptance: by temperature and rounds; batch: step latency by positions; capacity: memory and room that single settings take; verify_cost: the target's forward by window width",
    )
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--part", type=Part.parse, metavar="K/N", help="measure every N-th block from the K-th on and write them as one part into OUT (default: all blocks)")
    parts.add_argument("--gather", type=file_path, nargs="+", metavar="FILE", help="write the files of the sweep from all of its parts, measure nothing (default: measure)")
    args = parser.parse_args(words)
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
