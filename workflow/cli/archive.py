"""`soundings archive local NAME`: keep the last measurement of a live campaign as an archived one."""

from __future__ import annotations

import argparse
import json
import re

from workflow.archive import archive
from workflow.cli import BadInput
from workflow.derive.schema import SchemaError, schema
from workflow.page.routes import RESERVED
from workflow.plan import CAMPAIGNS, ROOT, Plan, PlanError, read_config

HELP = "turn the measured rows of a live campaign into an archived campaign"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("campaign", help="the live campaign whose published rows are archived")
    parser.add_argument("name", help="name of the new campaign: lower-case letters, digits and dashes")
    parser.add_argument("--title-en", metavar="TEXT", help="English title (default: the name)")
    parser.add_argument("--title-zh", metavar="TEXT", help="Chinese title (default: the name)")
    parser.add_argument("--hardware", metavar="TEXT", help="a note on the machine (default: that of the live campaign)")
    parser.add_argument("--json", action="store_true", help="one JSON object with the folder and its files")


def run(arguments: argparse.Namespace) -> int:
    check_name(arguments.name)
    titles = {"en": arguments.title_en or arguments.name, "zh": arguments.title_zh or arguments.name}
    try:
        plan = Plan.from_config(read_config(ROOT / "workflow/config.yaml"))
        files = archive(plan, arguments.campaign, arguments.name, titles, arguments.hardware)
    except (PlanError, SchemaError, OSError) as error:
        raise BadInput(str(error)) from None
    folder = CAMPAIGNS / arguments.name
    if arguments.json:
        print(json.dumps({"campaign": arguments.name, "folder": str(folder), "files": [file.name for file in files]}))
    else:
        print(f"{folder}: {len(files)} files. Its page: snakemake --cores 1 site --config 'campaigns=[{arguments.name}]' lead={arguments.name}")
    return 0


def check_name(name: str) -> None:
    """Raise BadInput for a name that cannot be a campaign's folder and route."""
    if not re.search(schema("campaign")["properties"]["name"]["pattern"], name):
        raise BadInput(f"{name!r}: a campaign's name has lower-case letters, digits and dashes, and starts with a letter or a digit")
    if name in RESERVED:
        raise BadInput(f"{name!r}: the site has a route of that name; choose another")
