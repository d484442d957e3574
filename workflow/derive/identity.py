"""Whether a prediction can fail: a formula whose inputs cancel against the measured value predicts nothing.

Every measured input is replayed, half of its values a tenth larger, and the gap between prediction and measurement computed again.
An input that leaves the gap where it was is inert: the comparison does not test it. When all are, the formula is an identity and may
not be called a prediction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workflow.derive import registry
from workflow.derive.fact import Cell
from workflow.derive.load import Campaign
from workflow.derive.mutation import SELECTORS, Mutation, Prover, spans

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


class IdentityError(ValueError):
    """A comparison that is called a prediction and cannot fail."""


def check_predictions(campaign: Campaign) -> None:
    """Raise IdentityError when a fact that is registered as a prediction cannot move against the measurement.

    One formula serves all keys of a template, so the first and the last key with a value stand for it.
    """
    prover = Prover(campaign)
    for definition in registry.FACTS:
        if definition.prediction:
            keys = [key for key, _ in definition.expand(prover.base.domains)]
            ends = (next((key for key in order if not prover.base.result(key).fact.missing), None) for order in (keys, reversed(keys)))
            for key in dict.fromkeys(end for end in ends if end is not None):
                if next(moving(prover, key), None) is None:
                    raise IdentityError(
                        f"{key}: registered as a prediction, but its inputs cancel against the measurement: an identity; its function is {definition.place}"
                    )


def moving(prover: Prover, key: str) -> Iterator[Cell]:
    """The column slices that the gap `key` moves with."""
    base = prover.base.result(key).fact
    tolerance = ROUNDING * (100.0 if base.unit == "percent" else 1.0)
    for cell in prover.leaves(key):
        if any(moved(prover, mutation, key, base.value, tolerance) for mutation in grown(prover, cell)):
            yield cell


def replay(prover: Prover, key: str) -> Replay:
    """Replay every numeric column slice that the gap `key` rests on. The fact must be in percent or a plain number."""
    found = tuple(moving(prover, key))
    return Replay(found, tuple(cell for cell in prover.leaves(key) if cell not in found and grown(prover, cell)))


def moved(prover: Prover, mutation: Mutation, key: str, was: float, tolerance: float) -> bool:
    value = prover.derivation(mutation, prover.apply(mutation)).result(key).fact.value
    return value is None or abs(value - was) > tolerance


def grown(prover: Prover, cell: Cell) -> list[Mutation]:
    """The two halves of a slice with every number a tenth larger; empty for texts and for columns that choose rows.

    Halves, so that an input which stands on both sides of the comparison, in one boot each, is not moved on both at once.
    """
    column = cell.column.partition("[")[0]
    table = prover.campaign.tables[cell.file]
    if column in SELECTORS:
        return []
    lines = [line for first, last in spans(cell.row) for line in range(first, last + 1)]
    place = {line: row for row, line in enumerate(table.lines)}
    try:
        numbers = {line: float(table.columns[column][place[line]]) for line in lines}
    except ValueError:
        return []
    middle = (len(lines) + 1) // 2
    halves = [half for half in (lines[:middle], lines[middle:]) if half]
    return [Mutation(cell.file, column, tuple(half), tuple(repr(numbers[n] * SIZE or SIZE - 1) for n in half)) for half in halves]
