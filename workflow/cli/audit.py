"""`soundings audit`: what a published text claims, recomputed from the figures that it printed."""

from __future__ import annotations

import argparse
from pathlib import Path

from workflow.cli import BadInput
from workflow.derive.audit import against, report, tables
from workflow.derive.schema import SchemaError

HELP = "recompute published claims from published figures, at the precision in which both were printed"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder with claims.csv and CSVs of measurements (a column id or run_id)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON, in the order of claims.csv")
    parser.add_argument("--brief", action="store_true", help="leave consistent claims out of the text")
    parser.epilog = (
        "Every printed figure stands for half a unit of its last place on both sides; counts and settings are exact. Exit code 0: nothing is "
        "wrong; 1: a claim is inconsistent, contradicts another or is an identity; 2: the files cannot be read."
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        findings = against.audit(tables.read(arguments.folder))
    except SchemaError as error:
        raise BadInput(str(error)) from None
    print(report.as_json(findings) if arguments.json else report.as_text(findings, not arguments.brief))
    return int(report.found_wrong(findings))
