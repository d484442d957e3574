"""soundings splice FILE...: fill the numbers of Markdown files from values.json, or check that they are as they should be."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from workflow.cli import BadInput, campaign
from workflow.page.format import Formatter
from workflow.page.markdown_file import Spliced, splice
from workflow.page.strings import Strings
from workflow.page.words import Words

HELP = "fill the marked numbers of Markdown files from values.json; with --check exit 1 on drift and on typed digits"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="Markdown files with markers <!--n:key-->…<!--/n--> and regions <!--splice:begin-->…<!--splice:end-->",
    )
    campaign.add_options(parser)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a number that differs or on a typed digit in a guarded region"
    )


def run(options: argparse.Namespace) -> int:
    values = campaign.load_values(campaign.values_path(options))
    formatter = Formatter(Words.load(), names=Strings.load().section("values"))
    worst = 0
    for file in options.files:
        try:
            text = file.read_text("utf8")
        except OSError as error:
            raise BadInput(f"{file}: {error.strerror}") from None
        worst = max(worst, _one(file, text, splice(text, str(file), values, formatter), options.check))
    return worst


def _one(file: Path, text: str, spliced: Spliced, check: bool) -> int:
    for problem in spliced.problems:
        print(problem, file=sys.stderr)
    drifted = [number for number, (old, new) in enumerate(zip(text.splitlines(), spliced.text.splitlines()), start=1) if old != new]
    if check:
        for number in drifted:
            print(
                f"{file}:{number}: a spliced number differs from {spliced.text.splitlines()[number - 1].strip()!r} [drift]", file=sys.stderr
            )
    elif spliced.text != text and not spliced.problems:
        temporary = file.with_name(f".{file.name}.splice")
        temporary.write_text(spliced.text, "utf8")
        os.replace(temporary, file)
    state = "differ" if check and drifted else "written" if drifted else "as they should be"
    print(f"{file}: {spliced.numbers} spliced numbers, {state}; {len(spliced.problems)} problems")
    return 1 if spliced.problems or (check and drifted) else 0
