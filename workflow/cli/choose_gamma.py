"""`soundings choose-gamma`: the speedup of every block size from one run at the largest, and the block size to take."""

from __future__ import annotations

import argparse
import json
import math

from rich.table import Table

from workflow.cli import BadInput, campaign
from workflow.cli.terminal import Terminal
from workflow.derive import division
from workflow.derive.registry import CONTENTS
from workflow.derive.schema import NUMERAL

HELP = "predict the speedup at every block size from one run at the largest and a table of costs, and choose one"


def configure(parser: argparse.ArgumentParser) -> None:
    campaign.add_options(parser)
    parser.add_argument("--content", choices=(*CONTENTS, "all"), default="all", help="content class of the campaign (default all)")
    parser.add_argument(
        "--histogram", metavar="c0;c1;...", help="instead of a campaign: rounds by accepted count at the largest block size"
    )
    parser.add_argument("--decode-ms", type=milliseconds, help="plain step, ms")
    parser.add_argument("--verify-ms", metavar="w2,w3,...", help="verification by width, ms, from width 2 to the largest block size + 1")
    parser.add_argument("--draft-ms", metavar="g1,g2,...", help="drafting by block size, ms, from 1 to the largest")
    parser.add_argument("--commit-ms", type=milliseconds, default=0.0, help="commit, ms a round (default 0)")
    parser.add_argument("--other-ms", type=milliseconds, default=0.0, help="time a token costs outside the blocks, ms (default 0)")
    parser.add_argument(
        "--round-other-ms", type=milliseconds, help="time a round costs outside the blocks, ms (default: --other-ms for each of its tokens)"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def run(arguments: argparse.Namespace) -> int:
    rows, regret = from_costs(arguments) if arguments.histogram else from_campaign(arguments)
    chosen = max(rows, key=lambda row: row["foretold"])["gamma"]
    if arguments.json:
        print(json.dumps({"chosen": chosen, "regret_percent": regret, "rows": rows}, indent=1))
        return 0
    table = Table("γ", "foretold", "measured", "regret", "", box=None, pad_edge=False)
    for row in rows:
        measured = ("", "") if row["measured"] is None else (f"{row['measured']:.3f}", f"{row['regret_percent']:.2f} %")
        table.add_row(str(row["gamma"]), f"{row['foretold']:.3f}", *measured, "chosen" if row["gamma"] == chosen else "")
    Terminal().print(table)
    if max(row["foretold"] for row in rows) < 1:
        print("no block size pays: decode plainly")
    if regret is not None:
        print(f"regret against the measured sweep: {regret:.2f} %")
    return 0


def from_campaign(arguments: argparse.Namespace) -> tuple[list[dict], float | None]:
    """Foretold and measured speedups of a campaign's block-size sweep."""
    from workflow.derive.evaluate import Derivation

    derivation = Derivation(campaign.measured(arguments), resamples=0)
    rows = []
    for gamma in derivation.domains["gamma"]:
        foretold = derivation.result(f"division.{arguments.content}.g{gamma}.foretold").fact
        measured = derivation.result(f"window.{arguments.content}.g{gamma}.speedup").fact
        if not foretold.missing:
            rows.append({"gamma": gamma, "foretold": foretold.value, "measured": measured.value})
    if not rows:
        raise BadInput(f"nothing to predict from: {derivation.result(f'division.{arguments.content}.g1.foretold').fact.reason}")
    best = max((row["measured"] for row in rows if row["measured"] is not None), default=None)
    for row in rows:  # what taking this block size would give away against the best of the sweep
        row["regret_percent"] = None if row["measured"] is None else 100 * (1 - row["measured"] / best)
    return rows, derivation.result(f"division.{arguments.content}.regret").fact.value


def from_costs(arguments: argparse.Namespace) -> tuple[list[dict], None]:
    """Foretold speedups from numbers on the command line, before any kernel is written."""
    if arguments.decode_ms is None or arguments.verify_ms is None or arguments.draft_ms is None:
        raise BadInput("--histogram needs --decode-ms, --verify-ms and --draft-ms beside it")
    if arguments.decode_ms == 0:
        raise BadInput("--decode-ms 0: expected the time of a plain step, > 0")
    counts = numbers("--histogram", arguments.histogram, ";")
    verify, draft = numbers("--verify-ms", arguments.verify_ms, ","), numbers("--draft-ms", arguments.draft_ms, ",")
    widest = len(counts) - 1
    if widest < 1 or sum(counts) <= 0:
        raise BadInput(f"--histogram {arguments.histogram}: expected at least the counts of 0 and 1 accepted drafts, not all zero")
    for name, values in (("--verify-ms", verify), ("--draft-ms", draft)):
        if len(values) != widest:
            raise BadInput(f"{name}: {len(values)} values; the histogram has block sizes 1 to {widest}, so {widest} are needed")
    rows = []
    for gamma in range(1, widest + 1):
        tau = division.tau_of(counts, gamma)
        value = division.speedup(
            tau,
            arguments.decode_ms,
            arguments.other_ms,
            draft[gamma - 1],
            verify[gamma - 1],
            arguments.commit_ms,
            arguments.round_other_ms,
        )
        rows.append({"gamma": gamma, "foretold": value, "measured": None, "regret_percent": None})
    return rows, None


def numbers(option: str, text: str, separator: str) -> list[float]:
    try:
        return [milliseconds(part) for part in text.split(separator)]
    except argparse.ArgumentTypeError as error:
        raise BadInput(f"{option} {text}: {error}; numbers are separated by {separator!r}") from None


def milliseconds(text: str) -> float:
    """A finite number that is not negative, e.g. a time in ms or a count of rounds."""
    if not NUMERAL["number"](text) or not 0 <= float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number >= 0")
    return float(text)
