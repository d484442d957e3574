"""Results of all files as rows of one campaign: checked against the schema cell by cell, named by their content, equal ones once."""

from __future__ import annotations

import csv
import hashlib
import tempfile
from dataclasses import dataclass, field

from workflow.derive.schema import schema
from workflow.importers.cells import fits, wanted
from workflow.importers.checks import check
from workflow.importers.report import DROPPED, FAULT, NOTE, Report
from workflow.importers.result import Figure, Result
from workflow.importers.units import written
from workflow.importers.values import clean

AXES = {"max_concurrency": "concurrency", "isl": "isl", "osl": "osl", "request_rate": "rate", "block_size": "window"}
"""Columns that name a sweep when they are the only one that varies."""
MIXED = "imported"
REQUESTS = tuple(
    name for name in schema("requests")["properties"]
    if name in ("run_id", "request_id", "isl", "osl", "queued_s", "ttft_ms", "tpot_ms", "e2e_ms", "drafted", "accepted", "cached_tokens", "finish_reason", "status")
)  # fmt: skip
UNTOLD = {"lane": ("unknown", "spec"), "backend": ("openai",)}
"""Values that say less than a person may know."""
DRAFTING = ("accept_length", "accept_scope", "block_size", "rounds", "drafted", "accepted")
"""Columns that plain decoding has nothing for."""


@dataclass
class Collected:
    """Rows as text, and the rows of requests in a file of their own, which may be large."""

    report: Report
    declared: dict[str, str] = field(default_factory=dict)
    """Columns that a person gave; they fill what the files leave open."""
    points: list[dict[str, str]] = field(default_factory=list)
    figures: dict[str, dict[str, str]] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    request_rows: int = 0

    def __post_init__(self):
        self.spool = tempfile.TemporaryFile("w+", encoding="utf8", newline="")  # noqa: SIM115  gone with the object
        self.writer = csv.writer(self.spool, lineterminator="\n")

    def add(self, result: Result, file: str, label: str | None) -> bool:
        """Keep a result; False where an equal one is there already."""
        place = f"{file} {result.place}".strip()
        check(result, place, self.report)
        row = self.cells(result, file, label)
        text = "\x1f".join(f"{name}={row[name]}" for name in sorted(row))
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        if digest in self.seen:
            self.report.say(DROPPED, file, result.place, f"the same result stands at {self.seen[digest]}; kept once")
            return False
        self.seen[digest] = place
        row["run_id"] = ":".join(filter(None, (row["label"], f"c{row['max_concurrency']}" if row.get("max_concurrency") else "", digest)))
        row["family"] = result.family or ""
        self.points.append(row)
        for request in result.requests:
            cells = {"run_id": row["run_id"], **{name: text_of(value) for name, value in request.items()}}
            self.writer.writerow([cells.get(name, "") for name in REQUESTS])
            self.request_rows += 1
        return True

    def cells(self, result: Result, file: str, label: str | None) -> dict[str, str]:
        """The columns as text; one that its schema forbids is dropped by name."""
        row: dict[str, str] = {"status": "ok", "lane": "unknown", "backend": "openai", "label": "imported"}
        for name, value in result.columns.items():
            text = text_of(value)
            if not text:
                continue
            if not fits(name, text):
                self.report.say(DROPPED, file, result.place, f"{name}: {text[:40]!r} is not {wanted(name)}; left empty")
                continue
            row[name] = text
        if label:
            row["label"] = label
        for name, text in self.declared.items():
            if row.get(name) in ("", None, *UNTOLD.get(name, ())) or name == "label":
                row[name] = text
            elif row[name] != text:
                self.report.say(NOTE, file, result.place, f"{name}: the file says {row[name]}, so the given {text} is not used")
        if row["lane"] == "plain":
            gone = [name for name in DRAFTING if row.pop(name, None)]
            if gone:
                self.report.say(DROPPED, file, result.place, f"lane plain drafts nothing: {', '.join(gone)} left out")
        return row

    def score(self, figure: Figure, file: str) -> bool:
        """Keep a figure; False where it stands already."""
        text = {"id": figure.id, "value": written(figure.value), "unit": figure.unit or "", "note": clean(figure.note) or ""}
        before = self.figures.get(figure.id)
        if before is None:
            self.figures[figure.id] = text
            return True
        if before == text:
            self.report.say(DROPPED, file, figure.place, "the same score stands there already; kept once")
        else:
            self.report.say(FAULT, file, figure.place, f"{figure.id}: {text['value']} here and {before['value']} before; the first is kept")
        return False

    def families(self) -> dict[str, list[dict[str, str]]]:
        """Points by the sweep that they are, in the order of their names."""
        loose = [row for row in self.points if not row["family"]]
        varying = [axis for axis in AXES if len({row[axis] for row in loose if row.get(axis)}) > 1]
        name = AXES[varying[0]] if len(varying) == 1 else MIXED
        found: dict[str, list[dict[str, str]]] = {}
        for row in sorted(self.points, key=order):
            family = row["family"] or name
            found.setdefault(family, []).append({"stage": family, **row})
        return found

    @property
    def loose_family(self) -> str:
        """The family of the rows that have requests."""
        return next((family for family, rows in self.families().items() if any(not row["family"] for row in rows)), MIXED)


def order(row: dict[str, str]) -> tuple:
    numbers = tuple(float(row[name]) if row.get(name, "").isdigit() else -1.0 for name in ("isl", "osl", "max_concurrency"))
    return (row["label"], *numbers, row["run_id"])


def text_of(value) -> str:
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return written(value)
    return clean(value) or ""
