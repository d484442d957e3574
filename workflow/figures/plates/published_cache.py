"""Published rows with the prefix cache off and on, under prompts that share a prefix and prompts that do not."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.bars import Bar, grouped, known
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.published import PUBLISHER
from workflow.figures.sheet import Sheet
from workflow.figures.style import AXIS, INK, Layout

SIDES = ("off", "on", "lazy")
TRAFFIC = ("shared", "random")
GROUPS = {traffic: [Bar(side, f"rows.cache.{traffic}.{side}.output_throughput", AXIS if side == "off" else INK) for side in SIDES] for traffic in TRAFFIC}


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    if not any(known(values, bars) for bars in GROUPS.values()):
        return Missing(tuple(bar.key for bars in GROUPS.values() for bar in bars))
    return grouped(values, layout, GROUPS)


def table(values: Values) -> Table:
    rows = [
        (name(traffic), name(side), *(key(values, f"rows.cache.{traffic}.{side}.{part}") for part in ("output_throughput", "ratio", "ttft_s")), key(values, f"rows.cache.{side}.running"))
        for traffic in TRAFFIC
        for side in SIDES
    ]
    return Table(("prompts", "cache", "output_throughput", "ratio", "ttft_s", "running"), tuple(rows))


PLATE = Plate("published-cache", "rows.cache_pays_on_shared", draw, table, needs=(PUBLISHER,))
