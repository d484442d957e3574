"""Which pool fills: for each lane, how much of its KV pool and of its state slots is in use at the fullest, as bars on one axis."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import row_label
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import value
from workflow.figures.scale import Scale
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import AXIS, INK, INK2, Layout

LANES = ("plain", "dspark")
POOLS = ("kv", "state")
FULL = 100.0
"""Percent of a pool."""


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    used = {lane: [value(values, f"walls.{lane}.{pool}") for pool in POOLS] for lane in LANES}
    used = {lane: shares for lane, shares in used.items() if None not in shares}
    if not used:
        return Missing(tuple(f"walls.{lane}.{pool}" for lane in LANES for pool in POOLS))
    left, right = (6, 15) if layout.narrow else (180, 234)
    bar, air = 15, 12
    pitch = layout.text + bar + 12 if layout.narrow else 29
    height = len(used) * (len(POOLS) * pitch + air)
    sheet = Sheet(layout, height + layout.text * 2 + 26)
    full = Scale(0, max(FULL, *(share for shares in used.values() for share in shares)))
    panel = Panel(sheet, left, 4, layout.width - left - right, height - air + 6, full, Scale(0, 1))
    for at, (lane, shares) in enumerate(used.items()):
        for place, (pool, share) in enumerate(zip(POOLS, shares)):
            y = panel.top + at * (len(POOLS) * pitch + air) + (place + 1) * pitch - bar / 2 - 3
            _bar(panel, lane, pool, share, y, bar, share == max(shares))
    panel.frame([0, 50, 100])
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("axis"), "end", INK2)
    return sheet


def _bar(panel: Panel, lane: str, pool: str, share: float, y: float, bar: float, fuller: bool) -> None:
    sheet, size = panel.sheet, panel.sheet.layout.text
    row_label(panel, y, f"{lane}_{pool}", bold=fuller)
    panel.bar(share, y, bar, INK if fuller else AXIS)
    slot = number(f"walls.{lane}.{pool}")
    if sheet.layout.narrow:
        sheet.text(panel.right, y - size * 0.95, slot, "end", bold=fuller)
        return
    sheet.text(panel.right + 68, y + size * 0.35, slot, "end", bold=fuller)
    sheet.text(panel.right + 76, y + size * 0.35, label(f"{lane}_{pool}_of"), color=INK2)


def table(values: Values) -> Table:
    rows = [(name(lane), *(key(values, f"walls.{lane}.{part}") for part in ("tokens", "kv", "slots", "state", "cap"))) for lane in LANES]
    return Table(("lane", "tokens", "kv", "slots", "state", "cap"), tuple(rows))


PLATE = Plate("walls", "walls.opposite", draw, table,
              needs=("walls.concurrency", *(f"walls.{lane}.{size}" for lane in LANES for size in ("tokens", "slots"))))
