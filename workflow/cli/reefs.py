"""`soundings reefs`: hazards in a campaign's own rows."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from workflow.cli import BadInput
from workflow.derive import load, reefs
from workflow.derive.schema import SchemaError
from workflow.plan import CAMPAIGNS, ROOT

HELP = "look for hazards in a campaign's own rows; exit 1 on a blocking one"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", metavar="NAME|DIR", nargs="?", help="campaign name or folder")
    parser.add_argument("--strict", action="store_true", help="exit 1 on a warning too")
    parser.add_argument("--list", action="store_true", help="print every detector: name, severity, what goes wrong")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        for reef in reefs.REEFS:
            print(f"{reef.name}\t{reef.severity}\t{reef.title}")
        return 0
    if not arguments.campaign:
        raise BadInput("a campaign is needed: its name or its folder (or --list)")
    folder = Path(arguments.campaign) if Path(arguments.campaign).is_dir() else ROOT / CAMPAIGNS / arguments.campaign
    try:
        found = reefs.findings(load.load(folder))
    except SchemaError as error:
        raise BadInput(str(error)) from None
    counts = Counter(finding.severity for finding in found)
    if arguments.json:
        print(json.dumps({"detectors": len(reefs.REEFS), "counts": counts, "findings": [one.as_dict() for one in found]}, indent=1, ensure_ascii=False))
    else:
        for one in found:
            print(f"{one.severity}: {one.reef}: {one.where}: {one.evidence}. {one.advice}")
        said = ", ".join(f"{counts[severity]} {severity}" for severity in reefs.SEVERITIES)
        print(f"{len(reefs.REEFS)} detectors on {folder.name}: {said}")
    bad = counts[reefs.SEVERITIES[0]] + (counts[reefs.SEVERITIES[1]] if arguments.strict else 0)
    return 1 if bad else 0
