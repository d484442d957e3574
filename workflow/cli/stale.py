"""`soundings stale`: measuring rules whose published rows came from other code; made for `snakemake site -R $(soundings stale)`."""

from __future__ import annotations

import argparse
import json
import sys

from workflow.cli import BadInput
from workflow.plan import ROOT, Plan, PlanError, read_config
from workflow.stale import fingerprint_now, stale_stages

HELP = "list the measuring rules whose rows were measured with other code"
MOST_NAMED = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="exit 1 when something is stale (default: exit 0)")
    parser.add_argument("--json", action="store_true", help="one JSON object with campaign, rule and the modules that differ")


def run(arguments: argparse.Namespace) -> int:
    try:
        found = stale_stages(Plan.from_config(read_config(ROOT / "workflow/config.yaml")), fingerprint_now(ROOT))
    except (PlanError, OSError) as error:
        raise BadInput(str(error)) from None
    if arguments.json:
        rows = [{"campaign": item.campaign, "rule": item.stage.rule, "modules": list(item.modules)} for item in found]
        print(json.dumps({"stale": rows}))
    else:
        print(" ".join(dict.fromkeys(item.stage.rule for item in found)))
        for item in found:
            more = len(item.modules) - MOST_NAMED
            named = ", ".join(item.modules[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
            print(f"{item.campaign}: {item.stage.rule} was measured with another {named}", file=sys.stderr)
    return 1 if found and arguments.check else 0
