"""Which files programs may load, by Python's own parser: what declarations are held against."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path


def imported(path: Path) -> set[str]:
    """Modules, and names that may be modules, which a file imports anywhere, inside functions as well."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def reached(modules: Iterable[str], tops: set[str], root: Path) -> set[str]:
    """Files below these top packages that modules reach through imports, themselves included; relative to the root."""
    left, seen = list(modules), set()
    while left:
        module = left.pop()
        place = root.joinpath(*module.split("."))
        path = next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
        if module.split(".")[0] not in tops or path is None or path in seen:
            continue
        seen.add(path)
        left += [*imported(path), module.rpartition(".")[0]]
    return {path.relative_to(root).as_posix() for path in seen}
