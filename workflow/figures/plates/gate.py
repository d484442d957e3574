"""What the gate can say: differences of scores from plain decoding with their one-sided bounds, against the margins declared before."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.effects import row_label
from workflow.figures.plate import Missing, Plate, Table, key
from workflow.figures.plate import label as name
from workflow.figures.read import value
from workflow.figures.scale import Scale, around, nice_ticks
from workflow.figures.sheet import Panel, Sheet, label, number
from workflow.figures.style import DEN, INK, INK2, RULE, Layout

TASKS = ("greedy", "sampled")
ROLES = ("candidate", "numeric")
HEALTH = ("truncated", "degenerate")
"""What a score hides, a share of the answers of either half."""


def known(values: Values) -> list[tuple[str, str]]:
    """(half of the gate, what is held against plain decoding) whose difference, bound and margin are known."""
    needed = ("gate.{role}.{task}.difference", "gate.{role}.{task}.lower", "gate.margin.{task}")
    rows = [(task, role) for task in TASKS for role in ROLES]
    return [(task, role) for task, role in rows if all(value(values, k.format(role=role, task=task)) is not None for k in needed)]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    rows = known(values)
    if not rows:
        return Missing(tuple(f"gate.candidate.{task}.{part}" for task in TASKS for part in ("difference", "lower")))
    ends = [value(values, f"gate.{role}.{task}.{part}") for task, role in rows for part in ("difference", "lower")]
    ends += [-value(values, f"gate.margin.{task}") for task, _ in rows]
    left, right = (2, 10) if layout.narrow else (190, 116)
    pitch = layout.text + 26 if layout.narrow else 31
    head = layout.text + 14
    sheet = Sheet(layout, head + pitch * len(rows) + 6 + layout.text * 2 + 22)
    panel = Panel(sheet, left, head, layout.width - left - right, pitch * len(rows) + 6, around([0.0, *ends], 0.12), Scale(0, 1))
    sheet.text(panel.x(-value(values, f"gate.margin.{rows[0][0]}")), layout.text, label("margin"), "middle", DEN)
    sheet.text(sheet.width, layout.text, label("lower"), "end", INK2)
    for place, (task, role) in enumerate(rows):
        y, tall = panel.top + pitch * (place + 1) - 12, (22 if layout.narrow else pitch) / 2
        zero, margin = panel.x(0), panel.x(-value(values, f"gate.margin.{task}"))
        sheet.line([(zero, y - tall), (zero, y + tall)], INK2, 1.2, (5, 3))
        sheet.line([(margin, y - tall + 3), (margin, y + tall - 3)], DEN, 3)
        _difference(panel, values, f"gate.{role}.{task}", y, f"{role}_{task}")
    panel.frame([tick for tick in nice_ticks(panel.xscale, 4 if layout.narrow else 6) if panel.x(tick) > layout.text])  # digits are centred on it
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("axis"), "end", INK2)
    return sheet


def _difference(panel: Panel, values: Values, row: str, y: float, text: str) -> None:
    sheet = panel.sheet
    row_label(panel, y, text, bold=".candidate." in row)
    difference, lower = (panel.x(value(values, f"{row}.{part}")) for part in ("difference", "lower"))
    sheet.line([(panel.left, y), (panel.right, y)], RULE, 1.0)
    sheet.line([(lower, y), (difference, y)], INK, 1.8)
    sheet.line([(lower, y - 6), (lower, y + 6)], INK, 1.8)
    sheet.marks([(difference, y)], "o", INK, 8)
    lift = -0.95 if sheet.layout.narrow else 0.35
    sheet.text(sheet.width, y + sheet.layout.text * lift, number(f"{row}.lower|signed"), "end", bold=".candidate." in row)


def table(values: Values) -> Table:
    parts = ("base.{}.score", "candidate.{}.score", "candidate.{}.difference", "candidate.{}.lower", "candidate.{}.pooled_sem", "candidate.{}.sigma",
             "numeric.{}.score", "numeric.{}.difference", "numeric.{}.lower", "margin.{}")  # fmt: skip
    rows = [(name(task), *(key(values, "gate." + part.format(task)) for part in parts)) for task in TASKS]
    configs, none = ("base", "candidate", "", "", "", "", "numeric", "", "", ""), key(values, "-")
    rows += [(name(part), *(key(values, f"gate.{role}.{part}") if role else none for role in configs)) for part in HEALTH]
    return Table(("part", "plain", "candidate", "difference", "lower", "pooled", "sigma", "numeric", "difference", "lower", "declared"), tuple(rows))


PLATE = Plate("gate", "gate.non_inferior.sampled", draw, table,
              needs=("gate.candidate", "gate.problems.greedy", "gate.problems.sampled", "gate.repeats", "gate.margin.sampled"))
