"""One kernel text on four GPUs: registers of each operator by target, what is spilled, which products reach the matrix units.

The test that chose this path stands above the columns: it is read from the registry, as the rows are.
"""

from __future__ import annotations

from workflow.derive.shown import OPERATORS, TARGETS
from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import value, word
from workflow.figures.scale import Scale
from workflow.figures.sheet import Sheet, label, number
from workflow.figures.style import AXIS, DEN, INK, INK2, RULE, Layout

OVER_ALL = ("shared", "spills", "size", "matrix_instructions")
"""Rows of the table over all kernels; what each kernel has is in kernels.csv."""


def _cell(operator: str, target: str, what: str = "registers") -> str:
    return f"kernels.{operator}.{target}.{what}"


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    rows = [operator for operator in OPERATORS if any(value(values, _cell(operator, target)) for target in TARGETS)]
    if not rows or word(values, "kernels.dispatch") is None:
        return Missing((_cell("*", "*"), "kernels.dispatch"))
    size = layout.text
    # Narrow paper has no room for the names beside the columns: they stand above their row.
    left, below, pitch = (0, size + 4, 2 * size + 16) if layout.narrow else (172, 0, size + 13)
    head = 3 * size + 26
    sheet = Sheet(layout, head + pitch * len(rows) + size + 14)
    width = (layout.width - left) / len(TARGETS)
    most = max(value(values, _cell(operator, target)) or 0.0 for operator in rows for target in TARGETS)
    bar = Scale(0.0, most)
    with sheet.group("test"):
        sheet.text(0, size + 1, label("test"), color=INK2)
        sheet.text(layout.width, size + 1, "@@t:kernels.dispatch|40@@", "end", bold=True, mono=True)
        sheet.line([(0, size + 10), (layout.width, size + 10)], AXIS, 1.2)
        for column, target in enumerate(TARGETS):
            sheet.axis_text(left + width * column + 4, 2 * size + 16, target, "start", INK)
    with sheet.group("registers"):
        for row, operator in enumerate(rows):
            y = head + pitch * row
            sheet.line([(0, y - size - 3), (layout.width, y - size - 3)], RULE, 1.0)
            sheet.axis_text(0, y, operator, "start", INK)
            for column, target in enumerate(TARGETS):
                _register(sheet, values, bar, left + width * column + 4, y + below, width - 10, operator, target)
    sheet.text(0, head + pitch * len(rows) + size - 6, label("marks"), color=INK2)
    return sheet


def _register(sheet: Sheet, values: Values, bar: Scale, x: float, y: float, width: float, operator: str, target: str) -> None:
    """Registers as a number and a bar; a square for matrix units, a hollow red bar where some were spilled."""
    size = sheet.layout.text
    count = value(values, _cell(operator, target))
    if count is None:
        return
    room = size * 2.1
    spilled = bool(value(values, _cell(operator, target, "spills")))
    color = DEN if spilled else INK
    sheet.text(x + room - 4, y, number(_cell(operator, target)), "end", color)
    sheet.rect(x + room, y - size * 0.62, max((width - room - 12) * bar(count), 1.5), size * 0.5, None if spilled else color, color if spilled else None)
    if value(values, _cell(operator, target, "matrix_instructions")):
        sheet.marks([(x + width - 5, y - size * 0.37)], "s", INK2, 6.0, filled=False)


def table(values: Values) -> Table:
    rows = [
        (lit(operator), *(key(values, _cell(operator, target)) for target in TARGETS))
        for operator in OPERATORS
        if any(values.get(_cell(operator, target)) is not None for target in TARGETS)
    ]
    rows += [(name(what), *(key(values, _cell("all", target, what)) for target in TARGETS)) for what in OVER_ALL]
    return Table(("operator", *TARGETS), tuple(rows))


PLATE = Plate("dispatch", "kernels.one_source", draw, table, needs=("kernels.kernels", "kernels.targets"))
