"""soundings splice FILE...: fill the numbers of Markdown files from values.json, or check that they are as they should be."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from workflow.cli import BadInput, campaign
from workflow.derive.values import Values
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
        "--also", type=Path, action="append", default=[], metavar="FILE", help="another values.json, whose facts stand in for those the first one misses"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a number that differs or on a typed digit in a guarded region"
    )
    parser.add_argument("--json", action="store_true", help="print what was found in each file as JSON")


def run(options: argparse.Namespace) -> int:
    values = together([campaign.load_values(path) for path in (campaign.values_path(options), *options.also)])
    formatter = Formatter(Words.load(), names=Strings.load().section("values"))
    texts = {file: read(file) for file in options.files}
    found = [One(file, text, splice(text, str(file), values, formatter)) for file, text in texts.items()]
    if not options.check:
        campaign.write({one.file: one.spliced.text for one in found if one.drifted and not one.spliced.problems})
    if options.json:
        print(json.dumps([one.to_json() for one in found], ensure_ascii=False, indent=1))
    else:
        for one in found:
            one.show(options.check)
    return int(any(one.spliced.problems or (options.check and one.drifted) for one in found))


def together(several: list[Values]) -> Values:
    """The first values, with facts of the others where a fact is missing."""
    first, *others = several
    facts = {key: fact for values in reversed(others) for key, fact in values.facts.items() if not fact.missing}
    return replace(first, facts={**first.facts, **{key: fact for key, fact in facts.items() if first.get(key) is None}})


def read(file: Path) -> str:
    """A file's text, its line ends kept."""
    try:
        return file.read_bytes().decode("utf8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file}: not UTF-8 at byte {error.start}; expected a Markdown file in UTF-8") from None
    except OSError as error:
        raise BadInput(f"{file}: {error.strerror}; expected a Markdown file") from None


@dataclass(frozen=True)
class One:
    """What was found in one file."""

    file: Path
    text: str
    spliced: Spliced

    @property
    def drifted(self) -> list[int]:
        """Lines that differ from what they should be."""
        lines = zip(self.text.splitlines(), self.spliced.text.splitlines())
        return [number for number, (old, new) in enumerate(lines, start=1) if old != new]

    def to_json(self) -> dict:
        problems = [str(problem) for problem in self.spliced.problems]
        return {"file": str(self.file), "numbers": self.spliced.numbers, "drifted": self.drifted, "problems": problems}

    def show(self, check: bool) -> None:
        for problem in self.spliced.problems:
            print(problem, file=sys.stderr)
        right = self.spliced.text.splitlines()
        for number in self.drifted if check else ():
            print(f"{self.file}:{number}: a spliced number differs from {right[number - 1].strip()!r} [drift]", file=sys.stderr)
        state = "differ" if self.drifted and (check or self.spliced.problems) else "written" if self.drifted else "as they should be"
        print(f"{self.file}: {self.spliced.numbers} spliced numbers, {state}; {len(self.spliced.problems)} problems")
