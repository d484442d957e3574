"""A claim's formula with everything it refers to put in its place: cells as leaves, lists as lists, other claims as their formulas."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from workflow.derive.audit.formula import Apply, Compare, Count, Reference, Tree
from workflow.derive.audit.tables import CLAIMS, Published, Unpublished, near
from workflow.derive.schema import SchemaError

LARGEST = 20_000
"""Leaves of one expanded formula."""


@dataclass(frozen=True)
class Leaf:
    """One printed cell where it stands in a formula; equal whenever the cell is, wherever it stands."""

    row: str
    column: str
    place: int = field(compare=False)
    """Number of this occurrence."""

    @property
    def cell(self) -> tuple[str, str]:
        return self.row, self.column


@dataclass
class Expansion:
    """An expanded formula and what was left out of it."""

    tree: Tree | Leaf
    notes: list[str]


def expand(published: Published, claim_id: str) -> Expansion:
    """Raises Unpublished when a figure is not given, SchemaError on claims that go round in a circle."""
    places, notes = itertools.count(), []
    return Expansion(_claim(published, claim_id, (), places, notes), list(dict.fromkeys(notes)))


def _claim(published: Published, name: str, open_: tuple[str, ...], places: Iterator[int], notes: list[str]):
    if name not in published.claims:
        raise Unpublished(f"no claim {name!r} in {CLAIMS}{near(name, published.claims)}")
    claim = published.claims[name]
    if name in open_:
        where = published.folder / CLAIMS
        raise SchemaError(f"{where}: line {claim.line}, column formula: claims refer to one another: {' -> '.join([*open_, name])}")
    if claim.fault:
        raise Unpublished(f"claim {name!r}: {claim.fault}")
    if claim.tree is None:
        raise Unpublished(f"claim {name!r} has no formula: nothing published to compute it from")
    return _expand(published, claim.tree, (*open_, name), places, notes)


def _expand(published: Published, node: Tree, open_: tuple[str, ...], places: Iterator[int], notes: list[str]):
    def inner(part):
        return _expand(published, part, open_, places, notes)

    match node:
        case Reference("v", (row, column)):
            published.cell(row, column)
            return _leaf(row, column, places)
        case Reference("rows", (stage, column)):
            return _rows(published, stage, column, places, notes)
        case Reference("claim", (name,)):
            return _claim(published, name, open_, places, notes)
        case Reference("claims", (group,)):
            names = [claim.id for claim in published.claims.values() if claim.set == group]
            if not names:
                raise Unpublished(f"no claim has set {group!r}")
            return Apply("list", tuple(_claim(published, name, open_, places, notes) for name in names))
        case Apply(name, arguments):
            return Apply(name, tuple(map(inner, arguments)))
        case Count(items, relation, bound):
            return Count(inner(items), relation, inner(bound) if bound is not None else None)
        case Compare(relation, left, right):
            return Compare(relation, inner(left), inner(right))
    return node


def _leaf(row: str, column: str, places: Iterator[int]) -> Leaf:
    place = next(places)
    if place > LARGEST:
        raise Unpublished(f"the formula refers to more than {LARGEST} cells")
    return Leaf(row, column, place)


def _rows(published: Published, stage: str, column: str, places: Iterator[int], notes: list[str]) -> Apply:
    found, empty = [], []
    for name in published.stage(stage):
        row = published.row(name)
        if column not in row.cells:
            published.cell(name, column)
        (found if row.text(column) else empty).append(name)
    if empty:
        notes.append(f"{len(empty)} of {len(found) + len(empty)} rows of stage {stage!r} give no {column} ({', '.join(empty[:3])})")
    if not found:
        raise Unpublished(f"no row of stage {stage!r} gives {column}")
    for name in found:
        published.cell(name, column)
    return Apply("list", tuple(_leaf(name, column, places) for name in found))


def leaves(node) -> list[Leaf]:
    """The cells of an expanded tree, every occurrence."""
    match node:
        case Leaf():
            return [node]
        case Apply(arguments=arguments):
            return [leaf for argument in arguments for leaf in leaves(argument)]
        case Count(items=items, bound=bound):
            return leaves(items) + (leaves(bound) if bound is not None else [])
        case Compare(left=left, right=right):
            return leaves(left) + leaves(right)
    return []


def elements(node) -> tuple:
    """The elements of a list; a value is a list of itself."""
    if isinstance(node, Apply) and node.name == "list":
        return tuple(part for argument in node.arguments for part in elements(argument))
    return (node,)
