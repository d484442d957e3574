"""The division over published figures: a verification beside what would break even, and the throughput that it foretells beside the measured one."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.bars import Bar, grouped, known
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.published import PUBLISHER
from workflow.figures.sheet import Sheet
from workflow.figures.style import AXIS, DEN, INK, Layout

GROUPS = {
    "times": [Bar("decode", "ledger.decode_ms", AXIS), Bar("break_even", "ledger.break_even_ms", AXIS), Bar("verify", "ledger.verify_ms", DEN)],
    "rates": [Bar("plain", "ledger.plain_rate", AXIS), Bar("predicted", "ledger.predicted", AXIS), Bar("measured", "ledger.speculative_rate", INK)],
}


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    if not any(known(values, bars) for bars in GROUPS.values()):
        return Missing(tuple(bar.key for bars in GROUPS.values() for bar in bars))
    return grouped(values, layout, GROUPS)


def table(values: Values) -> Table:
    return Table(("quantity", "figure"), tuple((name(bar.name), key(values, bar.key)) for bars in GROUPS.values() for bar in bars))


PLATE = Plate("published-division", "ledger.too_dear", draw, table, needs=(PUBLISHER,))
