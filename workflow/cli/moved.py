"""`soundings moved OLD NEW`: which numbers and claims of a publication changed by more than noise."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from workflow.cli import BadInput, campaign
from workflow.cli.terminal import Terminal
from workflow.derive.moved import Move, compare
from workflow.derive.schema import SchemaError
from workflow.derive.values import Values

HELP = "compare two values.json: moved, within noise, new, gone, definition changed, claim flipped; exit 1 if anything but noise"
FINDINGS = ("moved", "new", "gone", "definition changed", "claim flipped")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", help="values.json published before: a path, or REF:PATH of this git repository")
    parser.add_argument("new", help="values.json to compare with it: a path, or REF:PATH")
    parser.add_argument("--all", action="store_true", help="list what stayed within the noise as well")
    parser.add_argument("--json", action="store_true", help="print the moves as JSON")


def run(arguments: argparse.Namespace) -> int:
    moves = compare(read(arguments.old), read(arguments.new))
    counts = Counter(move.verdict for move in moves)
    wanted = FINDINGS + (("within noise",) if arguments.all else ())
    listed = [move for move in moves if move.verdict in wanted]
    if arguments.json:
        print(
            json.dumps({"counts": dict(sorted(counts.items())), "moves": [asdict(move) for move in listed]}, ensure_ascii=False, indent=1)
        )
    else:
        show(listed)
        print(", ".join(f"{counts[verdict]} {verdict}" for verdict in (*FINDINGS, "within noise", "same") if counts[verdict]))
    return int(any(counts[verdict] for verdict in FINDINGS))


def read(name: str) -> Values:
    """Values of a path or of REF:PATH."""
    if Path(name).exists() or ":" not in name:
        return campaign.load_values(Path(name))
    shown = subprocess.run(["git", "show", "--end-of-options", name], cwd=campaign.ROOT, capture_output=True)
    if shown.returncode != 0:
        raise BadInput(f"{name}: {shown.stderr.decode().strip().splitlines()[0]}; expected REF:PATH/values.json")
    try:
        return campaign.checked_values(json.loads(shown.stdout), name)
    except (SchemaError, ValueError) as error:
        raise BadInput(f"{name}: not a values.json ({error})") from None


def show(moves: list[Move]) -> None:
    if not moves:
        return
    table = Table("key", "verdict", "old", "new", "change", "noise", box=None, pad_edge=False)
    for move in moves:
        table.add_row(move.key, move.verdict, number(move.old), number(move.new), change(move), number(move.noise))
    Terminal().print(table)


def change(move: Move) -> str:
    """Relative where the old value allows it."""
    if move.delta is None:
        return ""
    return f"{100 * move.delta / abs(move.old):+.1f} %" if move.old else f"{move.delta:+.4g}"


def number(value) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:.5g}"
