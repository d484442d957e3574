"""`soundings ledger`: whether speculation pays, from figures that exist before any kernel does."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from workflow.cli import BadInput, campaign
from workflow.derive import load
from workflow.derive.ledger import measured, table
from workflow.derive.ledger.entry import Entry
from workflow.derive.ledger.rulers import Mismatch
from workflow.derive.schema import SchemaError

HELP = "the division: break-even verification, whether speculation pays, and what was predicted against what was measured"


def configure(parser: argparse.ArgumentParser) -> None:
    campaign.add_options(parser)
    parser.add_argument("--csv", type=Path, metavar="FILE", help=f"a case a row; columns {', '.join((*table.TEXTS, *table.FIGURES))}")
    parser.add_argument(
        "--acceptance", type=Path, metavar="FILE", help="rounds and accepted drafts a cluster (prompt), optionally by content"
    )
    for name, text in table.FIGURES.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int if name in table.WHOLE else float, metavar="X", help=text)
    parser.add_argument("--json", action="store_true", help="print the cases as JSON")
    parser.epilog = "Without figures and without --csv, the cases are those of the campaign. Exit code 0, or 2 on bad input."


def run(arguments: argparse.Namespace) -> int:
    figures = {name: value for name in table.FIGURES if (value := getattr(arguments, name)) is not None}
    if figures.keys() - {"gamma"} and (arguments.csv or arguments.campaign):
        raise BadInput(f"--{next(iter(figures)).replace('_', '-')} stands for a case of its own: leave out --csv and --campaign")
    try:
        entries = cases(arguments, figures)
        classes = table.read_clusters(arguments.acceptance, entries[0].gamma) if arguments.acceptance else {}
    except (SchemaError, table.Incomplete) as error:
        raise BadInput(str(error)) from None
    if len(classes) == 1 and len(entries) == 1:
        entries = [replace(entries[0], acceptance=next(iter(classes.values())))]
        classes = {}
    if arguments.json:
        rows = {"cases": [entry.as_dict() for entry in entries]}
        print(
            json.dumps(rows | ({"contents": {k: v.as_dict() for k, v in classes.items()}} if classes else {}), indent=1, ensure_ascii=False)
        )
        return 0
    show(entries, classes)
    return 0


def cases(arguments: argparse.Namespace, figures: dict[str, float]) -> list[Entry]:
    if arguments.csv:
        return table.read(arguments.csv)
    if figures.keys() - {"gamma"}:
        return [table.entry(figures, "command line")]
    from workflow.derive.evaluate import Derivation

    entries, reason = measured.entries(Derivation(load.load(campaign.folder_of(arguments)), resamples=0))
    if not entries:
        raise BadInput(f"no case to divide: {reason or 'this campaign has no block-size sweep'}; give figures, or --csv FILE")
    return entries


def show(entries: list[Entry], classes: dict) -> None:
    console = Console(width=140, highlight=False)
    rows = Table("case", "τ", "T_verify/T_decode", "break-even", "ms", "predicted", "measured", "gap", "verdict", box=None, pad_edge=False)
    for e in entries:
        rows.add_row(
            e.name, f"{e.tau:.3f}", shown(e.verify_steps, ".2f"), f"{e.break_even_steps:.2f}", f"{e.break_even_ms:.2f}", rate(e.speedup, e.tok_s),
            shown(e.measured_tok_s, ".2f"), shown(e.gap_percent, "+.1f", " %"), e.verdict,
        )  # fmt: skip
    console.print(rows)
    for entry in entries:
        for line in remarks(entry):
            console.print(f"{entry.name}: {line}", soft_wrap=True)
    for content, found in sorted(classes.items()):
        console.print(f"{content or 'all contents'}: {trusted(found)}", soft_wrap=True)


def remarks(entry: Entry) -> list[str]:
    """What the numbers of a case mean, a line each."""
    lines = []
    if entry.verify_ms is None:
        lines.append(f"verification must cost less than {entry.break_even_ms:.2f} ms, {entry.break_even_steps:.2f} decode steps, to pay")
    if entry.verdict == "never pays":
        lines.append(f"no acceptance repays this verification: accepting every draft gives {entry.at(entry.gamma + 1):.3f}×")
    elif entry.verdict == "loses":
        lines.append(f"breaks even at τ = {entry.tau_needed:.3f}, or at a verification of {entry.break_even_ms:.2f} ms")
    if entry.verify_ms is None or entry.verdict == "never pays":
        forwards = f"{entry.gamma + 1} positions by {entry.gamma + 1} forwards"
        lines.append(f"{forwards}: at most {entry.forwards_bound:.3f}×, so they can never pay")
    for mismatch in entry.mismatches:
        lines.append(two_rulers(mismatch))
    if entry.acceptance:
        lines.append(trusted(entry.acceptance))
    return lines


def two_rulers(mismatch: Mismatch) -> str:
    said = "" if mismatch.mixed is None else f"; mixed rulers say {mismatch.mixed:.3f}×, one ruler says {mismatch.same:.3f}×"
    flip = " (the verdict flips)" if mismatch.flips else "" if mismatch.matters else " (small here)"
    times = f"{mismatch.short_ms:.3f} and {mismatch.whole_ms:.3f} ms, {mismatch.left_out * 100:.1f} % left out"
    return f"two rulers: {mismatch.what}: {times}{said}{flip}"


def trusted(found) -> str:
    by_cluster = f", by prompt ({found.clusters}) {found.by_cluster[0]:.3f} to {found.by_cluster[1]:.3f}" if found.by_cluster else ""
    low, high = found.by_steps
    return f"accepted a round {found.rate:.3f} over {found.steps} rounds: 95 % by steps {low:.3f} to {high:.3f}{by_cluster}"


def shown(value: float | None, spec: str, suffix: str = "") -> str:
    return "" if value is None else format(value, spec) + suffix


def rate(speedup: float | None, tok_s: float | None) -> str:
    return "" if speedup is None else f"{speedup:.3f}× {tok_s:.2f} tok/s"
