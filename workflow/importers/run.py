"""An import: files in, rows and a report out. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from workflow.derive.reefs.machine import mixed_versions
from workflow.importers import registry
from workflow.importers.collect import Collected
from workflow.importers.mapping import Mapping
from workflow.importers.report import FAULT, Report
from workflow.importers.result import Figure, Seen
from workflow.importers.source import Source, Unreadable


@dataclass
class Read:
    """What one file was."""

    file: str
    sha256: str
    bytes: int
    formats: Counter = field(default_factory=Counter)
    """Format -> results of it."""
    rows: int = 0
    """Rows and figures that were kept."""

    def as_dict(self) -> dict:
        return {"file": self.file, "sha256": self.sha256, "bytes": self.bytes, "formats": dict(sorted(self.formats.items())), "rows": self.rows}


@dataclass
class Imported:
    collected: Collected
    report: Report
    seen: Seen
    sources: list[Read]

    @property
    def empty(self) -> bool:
        return not self.collected.points and not self.collected.figures


def import_files(files: list[tuple[str | None, Path]], mapping: Mapping | None = None, declared: dict[str, str] | None = None) -> Imported:
    """Read (label, path) one by one. What cannot be read is in the report; what can is kept."""
    report, seen = Report(), Seen()
    done = Imported(Collected(report, dict(declared or {})), report, seen, [])
    for label, path in files:
        try:
            source = Source(path, report)
            entry = mapping.entry(path.name) if mapping else None
            found = mapping.read(entry, source, seen) if mapping and entry else registry.read(source, report, seen)
            read = Read(path.name, source.sha256, source.size)
            for name, one in found:
                kept = done.collected.score(one, path.name) if isinstance(one, Figure) else done.collected.add(one, path.name, label)
                read.formats[name] += 1
                read.rows += kept
            done.sources.append(read)
        except Unreadable as error:
            report.say(FAULT, path.name, "", str(error).removeprefix(f"{path}: "))
    for tool, versions in sorted(mixed_versions(seen.tools).items()):
        report.say(FAULT, ", ".join(sorted({read.file for read in done.sources})), "", f"several versions of {tool} ({', '.join(sorted(versions))}), whose definitions may differ; all were read")
    seen.models.update(row["model"] for row in done.collected.points if row.get("model"))
    return done
