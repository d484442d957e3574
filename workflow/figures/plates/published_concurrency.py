"""Published rows over the concurrency: what the server gives, what one request gets, and how long it waits."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures import published
from workflow.figures.plate import Missing, Plate, Table
from workflow.figures.sheet import Sheet
from workflow.figures.style import DEN, INK, INK2, Layout

ROWS = "rows.concurrency.c#"
PANELS = (("output_throughput", INK), ("per_request", INK2), ("ttft_ms", DEN))


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    return published.panels(values, layout, ROWS, "concurrency", PANELS)


def table(values: Values) -> Table:
    columns = {part: f"{ROWS}.{part}" for part, _ in PANELS} | {"accept_length": "rows.concurrency.c#.accept_length", "achieved": "rows.achieved.c#"}
    return published.table(values, "concurrency", columns)


PLATE = Plate("published-concurrency", "rows.more_requests_serve_more", draw, table, needs=(published.PUBLISHER,))
