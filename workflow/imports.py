"""Which modules of this repository a program may import, told from their text: what a cheap rule declares as its code.

Nothing is imported or parsed to find out, since this runs whenever the Snakefile is read. Imports inside functions count; names that are put
together while a program runs are not seen, so a package that loads all of its modules is named by its folder (`workflow.derive.facts.*`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from workflow.plan import ROOT

TOP = "workflow"
IMPORT = re.compile(rf"^[ \t]*(?:from[ \t]+({TOP}(?:\.\w+)*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.MULTILINE)
NAME = re.compile(r"([\w.]+)(?:[ \t]+as[ \t]+\w+)?")


def code_of(*programs: str, root: Path = ROOT) -> list[str]:
    """Files that `python -m PROGRAM` may load, relative to the root, sorted. `PACKAGE.*`: every module of a package.

    Raises ValueError for a program that there is not.
    """
    ours, left, seen = modules(root), [], set()
    for program in programs:
        name = program.removesuffix(".*")
        if name not in ours:
            raise ValueError(f"{program}: no such program; expected a module below {root / TOP}")
        if name != program:
            left += [module for module in ours if module.rpartition(".")[0] == name]
        left += [name, f"{name}.__main__"]
    while left:
        module = left.pop()
        if module in ours and module not in seen:
            seen.add(module)
            left += [*imported(root / ours[module]), module.rpartition(".")[0]]
    return sorted(ours[module] for module in seen)


@cache
def modules(root: Path) -> dict[str, str]:
    """Module of ours -> its file, relative to the root; a package by its `__init__`."""
    found = {}
    for folder, _, names in os.walk(root / TOP):
        place = Path(folder).relative_to(root).as_posix()
        for name in names:
            if name.endswith(".py"):
                found[f"{place}/{name.removesuffix('.py')}".removesuffix("/__init__").replace("/", ".")] = f"{place}/{name}"
    return found


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Modules of ours, and names that may be modules, which the text of a file imports."""
    return tuple(_imports(path.read_text("utf8")))


def _imports(text: str) -> Iterator[str]:
    for package, names, bare in IMPORT.findall(text):
        found = [name for part in re.sub(r"#[^\n]*|[()]", "", names or bare).split(",") if (match := NAME.match(part.strip())) for name in match.groups()]
        yield from [package, *(f"{package}.{name}" for name in found)] if package else (name for name in found if name.split(".")[0] == TOP)

