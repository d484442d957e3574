"""Whether a prediction can fail: a formula whose inputs cancel against the measured value predicts nothing.

Every measured input is replayed, a tenth larger, and the gap between prediction and measurement computed again. An input that
leaves the gap where it was is inert: the comparison does not test it. When all are, the formula is an identity and may not be called
a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

from workflow.derive.evaluate import Derivation
from workflow.derive.fact import Cell
from workflow.derive.mutation import SELECTORS, Mutation, Prover, lines_of, spans

SIZE = 1.1
ROUNDING = 1e-7
"""A gap is a difference of ratios near one: what is left of cancelling inputs is rounding of this size, relative to one."""


@dataclass(frozen=True)
class Replay:
    """Inputs of a gap by whether it moves with them."""

    moving: tuple[Cell, ...]
    inert: tuple[Cell, ...]

    @property
    def is_identity(self) -> bool:
        return not self.moving


def replay(prover: Prover, key: str) -> Replay:
    """Replay every numeric column slice that the gap `key` rests on. The fact must be in percent or a plain number."""
    base = prover.base.result(key).fact
    scale = 100.0 if base.unit == "percent" else 1.0
    moving, inert = [], []
    for cell in leaves(prover.base, key):
        mutation = grown(prover, cell)
        if mutation is None:
            continue
        derivation = Derivation(prover.apply(mutation), resamples=0)
        value = derivation.result(key).fact.value
        moved = value is None or abs(value - base.value) > ROUNDING * scale
        (moving if moved else inert).append(cell)
    return Replay(tuple(moving), tuple(inert))


def leaves(derivation: Derivation, key: str) -> list[Cell]:
    """Column slices that a fact rests on, through all of its parents, each once."""
    found: dict[Cell, None] = {}
    todo, seen = [key], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        fact = derivation.result(name).fact
        found |= {cell: None for cell in fact.source if cell.column}
        todo.extend(fact.parents)
    return list(found)


def grown(prover: Prover, cell: Cell) -> Mutation | None:
    """The slice with every number a tenth larger; None for texts and for columns that choose rows."""
    column = cell.column.partition("[")[0]
    table = prover.campaign.tables[cell.file]
    if column in SELECTORS:
        return None
    bits = 0
    for first, last in spans(cell.row):
        bits |= ((1 << (last - first + 1)) - 1) << first
    lines = lines_of(bits)
    place = {line: row for row, line in enumerate(table.lines)}
    try:
        numbers = [float(table.columns[column][place[line]]) for line in lines]
    except ValueError:
        return None
    return Mutation(cell.file, column, tuple(lines), tuple(repr(number * SIZE) for number in numbers))
