"""Published rows over the input length: accept length, step latency and throughput of one request at a time."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures import published
from workflow.figures.plate import Missing, Plate, Table
from workflow.figures.sheet import Sheet
from workflow.figures.style import DEN, INK, NUM, Layout

ROWS = "rows.isl.i#"
PANELS = (("accept_length", NUM), ("step_ms", DEN), ("output_throughput", INK))


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    return published.panels(values, layout, ROWS, "isl", PANELS)


def table(values: Values) -> Table:
    columns = {part: f"{ROWS}.{part}" for part, _ in PANELS}
    return published.table(values, "isl", columns)


PLATE = Plate("published-input", "rows.accept_falls", draw, table, needs=(published.PUBLISHER,))
