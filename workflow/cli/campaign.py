"""The options by which subcommands find a campaign and its derived values."""

from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from workflow.cli import BadInput
from workflow.derive.values import Values

ROOT = Path(__file__).resolve().parents[2]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--campaign", metavar="NAME|DIR", help="campaign name or folder (default: the lead of workflow/config.yaml)")
    parser.add_argument("--values", type=Path, metavar="FILE", help="values.json (default: workflow/build/NAME/values.json)")


def folder_of(arguments: argparse.Namespace) -> Path:
    """Folder of the campaign's CSVs."""
    name = arguments.campaign or yaml.safe_load((ROOT / "workflow/config.yaml").read_text("utf8"))["lead"]
    folder = Path(name) if Path(name).is_dir() else ROOT / "workflow/campaigns" / name
    if not (folder / "campaign.yaml").is_file():
        raise BadInput(f"--campaign {name}: no campaign.yaml in {folder}")
    return folder


def values_path(arguments: argparse.Namespace) -> Path:
    if arguments.values:
        return arguments.values
    folder = folder_of(arguments)
    name = yaml.safe_load((folder / "campaign.yaml").read_text("utf8"))["name"]
    return ROOT / "workflow/build" / name / "values.json"


def load_values(path: Path) -> Values:
    """Values of a file. Raises BadInput naming the command that makes one."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file; make it with `python -m workflow.derive --campaign DIR --out {path.parent}`")
    try:
        return Values.load(path)
    except ValueError as error:
        raise BadInput(str(error)) from None
