"""Published rows over the request cap, at one block size: token budget, time to first token and throughput."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures import published
from workflow.figures.plate import Missing, Plate, Table
from workflow.figures.sheet import Sheet
from workflow.figures.style import DEN, INK, INK2, Layout

ROWS = "rows.cap.c#"
PANELS = (("tokens", INK2), ("ttft_s", DEN), ("output_throughput", INK))


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    return published.panels(values, layout, ROWS, "cap", PANELS)


def table(values: Values) -> Table:
    columns = {part: f"{ROWS}.{part}" for part, _ in PANELS} | {"accept_length": "rows.cap.c#.accept_length"}
    return published.table(values, "cap", columns)


PLATE = Plate("published-cap", "rows.lower_cap_serves_more", draw, table, needs=(published.PUBLISHER,))
