"""`soundings audit`: what a published text claims, recomputed from the figures that it printed."""

from __future__ import annotations

import argparse
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from workflow.cli import BadInput
from workflow.derive.audit import against, report, tables
from workflow.derive.audit.verdict import WRONG, Finding
from workflow.derive.output import OutputError, write_together
from workflow.derive.schema import SchemaError
from workflow.plan import ROOT

HELP = "recompute published claims from published figures, at the precision in which both were printed"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder with claims.csv and CSVs of measurements (a column id or run_id)")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON, in the order of claims.csv")
    parser.add_argument("--brief", action="store_true", help="leave consistent claims out of the text")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write the verdicts as a page of their own")
    parser.epilog = (
        "Every printed figure stands for half a unit of its last place on both sides; counts and settings are exact. Exit code 0: nothing is "
        "wrong; 1: a claim is inconsistent, contradicts another or is an identity; 2: the files cannot be read."
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        published = tables.read(arguments.folder)
        findings = against.audit(published)
    except SchemaError as error:
        raise BadInput(str(error)) from None
    if arguments.html:
        write_page(arguments.html, published, findings)
    print(report.as_json(findings) if arguments.json else report.as_text(findings, not arguments.brief))
    return int(report.found_wrong(findings))


def write_page(path: Path, published: tables.Published, findings: list[Finding]) -> None:
    """The verdicts as one self-contained HTML file, whole or not at all. Raises BadInput where its folder is not there: a path may be mistyped."""
    if not path.parent.is_dir():
        raise BadInput(f"--html {path}: there is no folder {path.parent}; make it first")
    templates = Environment(loader=FileSystemLoader(ROOT / "templates"), autoescape=True, undefined=StrictUndefined)
    text = templates.get_template("audit_alone.html.j2").render(
        name=published.folder.resolve().name,
        counts=report.counted(findings),
        rows=report.ordered(findings),
        wrong=WRONG,
        units={claim.id: claim.unit for claim in published.claims.values()},
        meanings={claim.id: claim.meaning for claim in published.claims.values()},
    )
    try:
        write_together({path: text})
    except OutputError as error:
        raise BadInput(f"--html {error}") from None
