"""Draw every plate of a campaign and write what the page needs beside it."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, label, lit
from workflow.figures.registry import plates
from workflow.figures.share import BUDGET as SHARE_BUDGET
from workflow.figures.share import FILE, picture
from workflow.figures.sheet import Frame, Sheet
from workflow.figures.style import LAYOUTS
from workflow.figures.svg import render

BUDGET = 40_000
"""Bytes of one SVG."""
_FACT = re.compile(r"@@[nt]:([^@|]+)")


class TooLarge(ValueError):
    """A drawing over the budget; the message names the plate and its size."""


def build(values: Values, out: Path) -> dict[str, dict]:
    """Write `ID.svg`, `ID.narrow.svg`, `share.png` and `index.json` into `out`, all or nothing. Returns the index.

    A record has the checksum of its drawings: the page's rule knows them by this file alone, and a build may end between the two.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        index = {plate.id: _one(plate, values, fresh) for plate in plates()}
        (fresh / FILE).write_bytes(_small(picture(values)))
        (fresh / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf8")
        _replace(fresh, out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return index


def _one(plate: Plate, values: Values, folder: Path) -> dict:
    """Draw one plate on both papers; its record in the index."""
    record = {"id": plate.id, "claim": plate.claim, "wide": plate.wide, "code": _code(plate), "file": None, "narrow": None, "keys": [],
              "sources": [], "rows": 0, "table": None, "frames": {}, "missing": None, "reason": None}
    drawings, frames, rows = {}, {}, plate.table(values)
    gone = plate.absent(values)
    for layout in () if gone else LAYOUTS:
        sheet = plate.draw(values, layout)
        if isinstance(sheet, Missing):
            gone = sheet.keys
            break
        drawings[layout.name] = render(sheet, plate.id, _stops(sheet, rows))
        frames |= {layout.name: [_frame(sheet, frame) for frame in sheet.frames]} if sheet.frames else {}
        if (size := len(drawings[layout.name].encode())) > BUDGET:
            raise TooLarge(f"plate {plate.id} ({layout.name}): {size:,} bytes of SVG, the budget is {BUDGET:,}")
    if gone:
        gone = _known(values, gone)
        reason = _reason(values, gone)
        return record | {"missing": {"key": gone[0], "keys": list(gone), "reason": reason}, "reason": reason}
    keys = sorted({key for svg in drawings.values() for key in _FACT.findall(svg)} | rows.facts())
    sources = sorted({cell.file for key in keys if key in values.facts for cell in _leaves(values, key)})
    for name, svg in drawings.items():
        (folder / _file(plate.id, name)).write_text(svg, "utf8")
    return record | {"file": _file(plate.id, "wide"), "narrow": _file(plate.id, "narrow"), "keys": keys, "sources": sources,
                     "sha256": hashlib.sha256("".join(drawings.values()).encode()).hexdigest(), "rows": len(rows.rows), "table": rows.to_json(), "frames": frames}


def _stops(sheet: Sheet, table: Table) -> str:
    """Places to read the drawing at as `x:row,row ...`; one without a row in the table is left out."""
    found = []
    for stop in sheet.stops:
        named = [lit(stop.level), *([label(stop.name)] if stop.name else [])]
        rows = [str(at) for at, row in enumerate(table.rows) if all(cell in row for cell in named)]
        if rows:
            found.append(f"{round(stop.x, 1):g}:{','.join(rows)}")
    return " ".join(found)


def _frame(sheet: Sheet, frame: Frame) -> dict:
    return {"caption": frame.caption, "groups": list(frame.groups), "box": f"0 {frame.top:g} {sheet.width:g} {frame.height:g}"}


def _small(png: bytes) -> bytes:
    if len(png) > SHARE_BUDGET:
        raise TooLarge(f"{FILE}: {len(png):,} bytes, the budget is {SHARE_BUDGET:,}")
    return png


def _file(identifier: str, layout: str) -> str:
    return f"{identifier}.svg" if layout == "wide" else f"{identifier}.{layout}.svg"


def _code(plate: Plate) -> str:
    return plate.draw.__module__.replace(".", "/") + ".py"


def _leaves(values: Values, key: str):
    """Cells behind a fact, through its parents."""
    seen, queue = set(), [key]
    while queue:
        fact = values.facts.get(queue.pop())
        if fact is None or fact.key in seen:
            continue
        seen.add(fact.key)
        yield from fact.source
        queue += fact.parents


def _known(values: Values, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns replaced by the facts that they name, as far as the derivation knows any."""
    found = [known for key in keys for known in ([key] if key in values.facts else sorted(fnmatch.filter(values.facts, key)))]
    return tuple(dict.fromkeys(found)) or keys


def _reason(values: Values, keys: tuple[str, ...]) -> str:
    """Why the first missing fact is missing, in the words of the derivation, or that nothing of that name was derived."""
    for key in keys:
        fact = values.facts.get(key)
        if fact is not None and fact.reason:
            return f"{key}: {fact.reason}"
    return f"not measured: {', '.join(keys)}"


def _replace(fresh: Path, out: Path) -> None:
    """Move the new files over the old, then drop drawings that no longer exist; the index comes last."""
    out.mkdir(parents=True, exist_ok=True)
    names = sorted(p.name for p in fresh.iterdir())
    for name in sorted(names, key=lambda n: n == "index.json"):
        os.replace(fresh / name, out / name)
    for old in out.glob("*.svg"):
        if old.name not in names:
            old.unlink()
