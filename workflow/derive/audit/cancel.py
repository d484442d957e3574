"""Inputs that cancel: they stand in a formula, each of their places moves it, and all of them together do not.

A formula whose inputs cancel does not use them: what it "predicts" was put into it. Replayed with every input changed by a tenth and by
a fifth, as a reader with a pocket calculator would.
"""

from __future__ import annotations

from collections.abc import Callable

from workflow.derive.audit.enclosure import Cells, value
from workflow.derive.audit.expand import Leaf, leaves
from workflow.derive.audit.interval import Interval

CHANGES = (1.1, 0.8)
ROUNDING = 1e-9
"""Relative change of a result that floats make by themselves."""


def cancelled(node, cells: Cells) -> list[tuple[str, str]]:
    """The cells that cancel, in the order in which they stand."""
    base = middle(node, cells)
    if base is None:
        return []
    found = []
    for cell in dict.fromkeys(leaf.cell for leaf in leaves(node)):
        places = [leaf.place for leaf in leaves(node) if leaf.cell == cell]
        if moves(node, cells, base, lambda leaf, one=cell: leaf.cell == one):
            continue
        if any(moves(node, cells, base, lambda leaf, one=place: leaf.place == one) for place in places):
            found.append(cell)
    return found


def inert(node, cells: Cells, of: list[tuple[str, str]]) -> bool:
    """Whether no cell of `of` moves the formula, alone."""
    base = middle(node, cells)
    return base is not None and not any(moves(node, cells, base, lambda leaf, one=cell: leaf.cell == one) for cell in of)


def moving(node, cells: Cells) -> list[tuple[str, str]]:
    """The cells that move a formula."""
    base = middle(node, cells)
    names = dict.fromkeys(leaf.cell for leaf in leaves(node))
    return [] if base is None else [cell for cell in names if moves(node, cells, base, lambda leaf, one=cell: leaf.cell == one)]


def middle(node, cells: Cells) -> float | None:
    """The formula of the printed figures themselves; None where it has no value."""
    result = value(node, lambda leaf: Interval.point(cells(leaf).middle))
    return result.middle if result.bounded else None


def moves(node, cells: Cells, base: float, chosen: Callable[[Leaf], bool]) -> bool:
    """Whether the formula leaves `base` when the chosen leaves change."""
    for change in CHANGES:
        result = value(
            node, lambda leaf, by=change: Interval.point(changed(cells(leaf).middle, by) if chosen(leaf) else cells(leaf).middle)
        )
        if not result.bounded or abs(result.middle - base) > ROUNDING * max(abs(base), abs(result.middle)):
            return True
    return False


def changed(value: float, by: float) -> float:
    return value * by or by
