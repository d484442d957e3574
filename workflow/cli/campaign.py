"""The options by which subcommands find a campaign and its derived values."""

from __future__ import annotations

import argparse
from pathlib import Path

from workflow.cli import BadInput
from workflow.derive import load
from workflow.derive.output import OutputError, write_together
from workflow.derive.schema import SchemaError, check_document, read_json
from workflow.derive.values import Values
from workflow.plan import BUILD, CAMPAIGNS, ROOT, PlanError, read_config



def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--campaign", metavar="NAME|DIR", help="campaign name or folder (default: the lead of workflow/config.yaml)")
    parser.add_argument("--values", type=Path, metavar="FILE", help="values.json (default: workflow/build/NAME/values.json)")


def folder_of(arguments: argparse.Namespace) -> Path:
    """Folder of the campaign's CSVs."""
    name = arguments.campaign or lead()
    folder = Path(name) if Path(name).is_dir() else ROOT / CAMPAIGNS / name
    if not (folder / "campaign.yaml").is_file():
        raise BadInput(f"--campaign {name}: no campaign.yaml in {folder}")
    return folder


def values_path(arguments: argparse.Namespace) -> Path:
    if arguments.values:
        return arguments.values
    try:
        name = load.read_definition(folder_of(arguments))["name"]
    except SchemaError as error:
        raise BadInput(str(error)) from None
    return ROOT / BUILD / name / "values.json"


def write(texts: dict[Path, str]) -> None:
    """Write files, all or none. Raises BadInput where that cannot be done."""
    try:
        write_together(texts)
    except OutputError as error:
        raise BadInput(str(error)) from None


def lead() -> str:
    """The campaign that leads the site, by the configuration."""
    try:
        return read_config(ROOT / "workflow/config.yaml")["lead"]
    except PlanError as error:
        raise BadInput(str(error)) from None


def measured(arguments: argparse.Namespace) -> load.Campaign:
    """The rows of the campaign. Raises BadInput with file, row and column."""
    try:
        return load.load(folder_of(arguments))
    except SchemaError as error:
        raise BadInput(str(error)) from None


def load_values(path: Path) -> Values:
    """Values of a file. Raises BadInput naming the command that makes one."""
    if not path.exists():
        raise BadInput(f"{path}: no such file; make it with `python -m workflow.derive --campaign DIR --out {path.parent}`")
    try:
        return checked_values(read_json(path), path)
    except SchemaError as error:
        raise BadInput(str(error)) from None


def checked_values(document: dict, name: Path | str) -> Values:
    """Values of a parsed values.json. Raises SchemaError naming the field that is wrong."""
    check_document(Path(name), document, "values")
    return Values.from_json(document)
