"""Every plate, found by its module: a file in `plates/` with a `PLATE` is all it takes to add one."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from workflow.figures import plates as _folder
from workflow.figures.plate import Plate


@cache
def plates() -> tuple[Plate, ...]:
    """The plates in the order of their modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(_folder.__path__))
    return tuple(import_module(f"{_folder.__name__}.{name}").PLATE for name in names)


def plate(identifier: str) -> Plate:
    """The plate of an id. Raises KeyError that names what exists."""
    for known in plates():
        if known.id == identifier:
            return known
    raise KeyError(f"no plate {identifier!r}; there are: {', '.join(p.id for p in plates())}")
