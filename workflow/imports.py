"""Which modules of this repository a program may import, told from their text: what a cheap rule declares as its code.

Nothing is imported or parsed to find out, since this runs whenever the Snakefile is read. Imports inside functions count; names that are put
together while a program runs are not seen, so a package that loads all of its modules is named by its folder (`workflow.derive.facts.*`).
"""

from __future__ import annotations

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
    left, seen = list(programs), set()
    for program in programs:
        name = program.removesuffix(".*")
        if _file(root, name) is None:
            raise ValueError(f"{program}: no such program; expected a module below {root / TOP}")
        if name != program:
            left += [f"{name}.{path.stem}" for path in root.joinpath(*name.split(".")).glob("*.py") if path.stem != "__init__"]
        left.append(f"{name}.__main__")
    while left:
        module = left.pop()
        path = _file(root, module)
        if path is None or path in seen:
            continue
        seen.add(path)
        left += [*imported(path), module.rpartition(".")[0]]
    return sorted(path.relative_to(root).as_posix() for path in seen)


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Modules of ours, and names that may be modules, which the text of a file imports."""
    return tuple(_imports(path.read_text("utf8")))


def _imports(text: str) -> Iterator[str]:
    for package, names, modules in IMPORT.findall(text):
        found = [name for part in re.sub(r"#[^\n]*|[()]", "", names or modules).split(",") if (match := NAME.match(part.strip())) for name in match.groups()]
        yield from [package, *(f"{package}.{name}" for name in found)] if package else (name for name in found if name.split(".")[0] == TOP)


def _file(root: Path, module: str) -> Path | None:
    """File of a module of ours."""
    place = root.joinpath(*module.split("."))
    if module.split(".")[0] != TOP:
        return None
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
