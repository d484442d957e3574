"""`soundings mutate`: prove that every number of the report moves with its sources, and with nothing else."""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path

from workflow.cli import BadInput, at_least, campaign
from workflow.derive import identity, load
from workflow.derive.mutation import Outcome, Prover

HELP = "change measured cells in memory and check that every spliced number moves, and no other; exit 1 if one does not"

def configure(parser: argparse.ArgumentParser) -> None:
    campaign.add_options(parser)
    parser.add_argument(
        "--site", type=Path, metavar="DIR", help="put to the test the keys spliced on these pages (default: every fact with a value)"
    )
    parser.add_argument("--sample", type=at_least(1), metavar="N", help="put N keys to the test, drawn with --seed")
    parser.add_argument(
        "--all", action="store_true", help="also mutate every numeric cell of the points files, and a cell a point and column of the others"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of all draws (default 0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the result (default: mutation.json in the campaign folder, from where the page takes it; with --sample or --site nowhere)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    start = time.monotonic()
    measured = campaign.measured(arguments)
    prover = Prover(measured, arguments.seed)
    keys = prover.keys()
    if arguments.site:
        spliced = spliced_keys(arguments.site)
        keys = [key for key in keys if key in spliced]
    if arguments.sample is not None and arguments.sample < len(keys):
        keys = sorted(random.Random(arguments.seed).sample(keys, arguments.sample))
    outcome = prover.run(keys, cells=arguments.all)
    predictions = [key for key in keys if key in prover.base.definitions and prover.base.definitions[key][0].prediction]  # bounds have none
    identities = [key for key in predictions if next(identity.moving(prover, key), None) is None]
    result = {
        "schema": 1,
        "campaign": measured.name,
        "seed": arguments.seed,
        "mode": "all" if arguments.all else "sample" if arguments.sample is not None else "keys",
        "keys": len(outcome.keys),
        "proven": len(outcome.proven),
        "mutations": outcome.mutations,
        "unproven": outcome.unproven,
        "strays": outcome.strays[:50],
        "identities": identities,
        "sources": {name: manifest["sha256"] for name, manifest in sorted(measured.manifests.items())},
    }
    whole = arguments.sample is None and arguments.site is None
    if out := arguments.out or (measured.folder / load.MUTATION if whole else None):
        campaign.write({out: json.dumps(result, indent=1) + "\n"})
    print(json.dumps(result, indent=1) if arguments.json else report(outcome, identities, time.monotonic() - start))
    return int(bool(outcome.unproven or outcome.strays or identities))


def spliced_keys(site: Path) -> set[str]:
    """Keys that carry a number on the pages of a built site."""
    pages = sorted(site.rglob("*.html"))
    if not pages:
        raise BadInput(f"--site {site}: no .html file in it; build the site first")
    return {
        key for page in pages for group in re.findall(r'data-key="([^"]+)"', page.read_text("utf8")) for key in re.split(r"[\s,]+", group)
    }


def report(outcome: Outcome, identities: list[str], seconds: float) -> str:
    moved = f"{len(outcome.proven)} of {len(outcome.keys)} keys moved with their sources ({100 * outcome.score:.1f} %)"
    lines = [f"{moved}, {outcome.mutations} mutations, {seconds:.0f} s"]
    lines += [f"not moved: {key}" for key in outcome.unproven[:20]]
    lines += [f"moved against the graph: {stray}" for stray in outcome.strays[:20]]
    lines += [f"called a prediction, but its inputs cancel: {key}" for key in identities]
    return "\n".join(lines)
