"""Draw every plate of a campaign that is not drawn already, and write what the page needs beside it."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from workflow.derive.values import Values
from workflow.figures import draw, left
from workflow.figures.asked import answers
from workflow.figures.plate import SHARE
from workflow.figures.registry import plates


def build(values: Values, out: Path) -> dict[str, dict]:
    """Write `ID.svg`, `ID.narrow.svg`, `share.png` and `index.json` into `out`, all or nothing. Returns the index.

    A drawing is made of facts alone: one whose facts are what they were stays, if its files are whole. A record has the checksum of its
    drawings: the page's rule knows them by this file alone, and a build may end between the two.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    code = left.code()
    before = left.load(out, code)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        drawn = {name: before[name] if name in before and _stands(before[name], values, out) else _draw(name, values, fresh) for name in _names(before)}
        index = {name: _told(drawing["record"], values) for name, drawing in drawn.items()}
        (fresh / left.FILE).write_text(left.text_of(drawn, code), "utf8")
        (fresh / "index.json").write_text(json.dumps(index, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf8")
        _replace(fresh, out, {file for drawing in drawn.values() for file in _files(drawing["record"])})
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return index


def _names(before: dict[str, dict]) -> list[str]:
    """Every drawing; the same code has the same ones, and is asked for them only where something is drawn."""
    return list(before) or [*(plate.id for plate in plates()), SHARE]


def _draw(name: str, values: Values, folder: Path) -> dict:
    if name == SHARE:
        return draw.share(values, folder)
    return draw.plate(next(plate for plate in plates() if plate.id == name), values, folder)


def _stands(drawing: dict, values: Values, folder: Path) -> bool:
    """Whether a drawing of the last build is what would be drawn now."""
    if drawing["answers"] != answers(values, drawing["keys"], drawing["patterns"]):
        return False
    try:
        contents = [(folder / file).read_bytes() for file in _files(drawing["record"])]
    except OSError:
        return False
    return not contents or hashlib.sha256(b"".join(contents)).hexdigest() == drawing["record"]["sha256"]


def _files(record: dict) -> list[str]:
    """Files of a drawing, in the order in which its checksum goes through them."""
    return [record[name] for name in ("file", "narrow") if record.get(name)]


def _told(record: dict, values: Values) -> dict:
    """A drawing's record in the index: of a plate also the files that its facts come from, or why it was not drawn."""
    if record["file"] == SHARE:
        return record
    record = {"sources": _sources(values, record["keys"]), "missing": None, "reason": None, **record}
    if gone := record.pop("gone", None):
        gone = _known(values, gone)
        reason = _reason(values, gone)
        record |= {"missing": {"key": gone[0], "keys": gone, "reason": reason}, "reason": reason}
    return record


def _sources(values: Values, keys: list[str]) -> list[str]:
    """Files of the cells behind some facts, through their parents."""
    seen, queue, files = set(), list(keys), set()
    while queue:
        fact = values.facts.get(queue.pop())
        if fact is None or fact.key in seen:
            continue
        seen.add(fact.key)
        files |= {cell.file for cell in fact.source}
        queue += fact.parents
    return sorted(files)


def _known(values: Values, keys: list[str]) -> list[str]:
    """Patterns replaced by the facts that they name, as far as the derivation knows any."""
    found = [known for key in keys for known in ([key] if key in values.facts else sorted(fnmatch.filter(values.facts, key)))]
    return list(dict.fromkeys(found)) or keys


def _reason(values: Values, keys: list[str]) -> str:
    """Why the first missing fact is missing, in the words of the derivation, or that nothing of that name was derived."""
    for key in keys:
        fact = values.facts.get(key)
        if fact is not None and fact.reason:
            return f"{key}: {fact.reason}"
    return f"not measured: {', '.join(keys)}"


def _replace(fresh: Path, out: Path, drawings: set[str]) -> None:
    """Move the new files over the old, then drop drawings that no longer exist; the index comes last."""
    out.mkdir(parents=True, exist_ok=True)
    for name in sorted((path.name for path in fresh.iterdir()), key=lambda name: (name == "index.json", name)):
        os.replace(fresh / name, out / name)
    for old in out.glob("*.svg"):
        if old.name not in drawings:
            old.unlink()
