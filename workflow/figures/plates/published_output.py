"""Published rows over the output length: time to first token, accept length and throughput of one request at a time."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures import published
from workflow.figures.plate import Missing, Plate, Table
from workflow.figures.sheet import Sheet
from workflow.figures.style import DEN, INK, NUM, Layout

ROWS = "rows.osl.o#"
PANELS = (("ttft_ms", DEN), ("accept_length", NUM), ("output_throughput", INK))


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    return published.panels(values, layout, ROWS, "osl", PANELS)


def table(values: Values) -> Table:
    columns = {part: f"{ROWS}.{part}" for part, _ in PANELS}
    return published.table(values, "osl", columns)


PLATE = Plate("published-output", "rows.ttft_flat", draw, table, needs=(published.PUBLISHER,))
