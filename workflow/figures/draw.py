"""One drawing of a campaign: written into a folder, with what was asked for it and what the index says of it."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from workflow.derive.values import Values
from workflow.figures.asked import Asked, answers
from workflow.figures.plate import SHARE, Missing, Plate, Table, label, lit
from workflow.figures.sheet import Frame, Sheet
from workflow.figures.style import LAYOUTS
from workflow.figures.svg import render

BUDGET = 40_000
"""Bytes of one SVG."""
_FACT = re.compile(r"@@[nt]:([^@|]+)")


class TooLarge(ValueError):
    """A drawing over the budget; the message names the plate and its size."""


def plate(plate: Plate, values: Values, folder: Path) -> dict:
    """Draw a plate on both papers. `gone` in its record: the facts without which there is nothing to show."""
    asked = Asked(values)
    record = {"id": plate.id, "claim": plate.claim, "wide": plate.wide, "code": _code(plate), "file": None, "narrow": None, "keys": [],
              "rows": 0, "table": None, "frames": {}}  # fmt: skip
    return _noted(values, asked, record | _drawn(plate, asked, folder))


def share(values: Values, folder: Path) -> dict:
    """Draw the picture for links."""
    from workflow.figures.share import BUDGET, picture  # with all of matplotlib, which no plate needs

    asked = Asked(values)
    png = picture(asked)
    if len(png) > BUDGET:
        raise TooLarge(f"{SHARE}: {len(png):,} bytes, the budget is {BUDGET:,}")
    (folder / SHARE).write_bytes(png)
    return _noted(values, asked, {"file": SHARE, "sha256": hashlib.sha256(png).hexdigest()})


def _noted(values: Values, asked: Asked, record: dict) -> dict:
    keys, patterns = list(asked.keys), list(asked.patterns)
    return {"keys": keys, "patterns": patterns, "answers": answers(values, keys, patterns), "record": record}


def _drawn(plate: Plate, asked: Asked, folder: Path) -> dict:
    """What of a plate's record depends on the facts."""
    drawings, frames, rows = {}, {}, plate.table(asked)
    gone = plate.absent(asked)
    for layout in () if gone else LAYOUTS:
        sheet = plate.draw(asked, layout)
        if isinstance(sheet, Missing):
            gone = sheet.keys
            break
        drawings[layout.name] = render(sheet, plate.id, _stops(sheet, rows))
        frames |= {layout.name: [_frame(sheet, frame) for frame in sheet.frames]} if sheet.frames else {}
        if (size := len(drawings[layout.name].encode())) > BUDGET:
            raise TooLarge(f"plate {plate.id} ({layout.name}): {size:,} bytes of SVG, the budget is {BUDGET:,}")
    if gone:
        return {"gone": list(gone)}
    for name, svg in drawings.items():
        (folder / _file(plate.id, name)).write_text(svg, "utf8")
    return {"file": _file(plate.id, "wide"), "narrow": _file(plate.id, "narrow"), "sha256": hashlib.sha256("".join(drawings.values()).encode()).hexdigest(),
            "keys": sorted({key for svg in drawings.values() for key in _FACT.findall(svg)} | rows.facts()), "rows": len(rows.rows),
            "table": rows.to_json(), "frames": frames}  # fmt: skip


def _stops(sheet: Sheet, table: Table) -> str:
    """Places to read the drawing at as `x:row,row ...`; one without a row in the table is left out."""
    found = []
    for stop in sheet.stops:
        named = [lit(stop.level), *([label(stop.name)] if stop.name else [])]
        rows = stop.rows or [at for at, row in enumerate(table.rows) if all(cell in row for cell in named)]
        if rows:
            found.append(f"{round(stop.x, 1):g}:{','.join(map(str, rows))}")
    return " ".join(found)


def _frame(sheet: Sheet, frame: Frame) -> dict:
    return {"caption": frame.caption, "groups": list(frame.groups), "box": f"0 {frame.top:g} {sheet.width:g} {frame.height:g}"}


def _file(identifier: str, layout: str) -> str:
    return f"{identifier}.svg" if layout == "wide" else f"{identifier}.{layout}.svg"


def _code(plate: Plate) -> str:
    return plate.draw.__module__.replace(".", "/") + ".py"
