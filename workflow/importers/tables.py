"""CSVs of other tools: the header as they write it, the rows as objects."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from workflow.importers.report import FAULT
from workflow.importers.source import Source


def rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """(line on which it ends, cells) of every row that is not blank."""
    numbered = source.lines()
    last = 0

    def texts() -> Iterator[str]:
        nonlocal last
        for number, line in numbered:
            last = number
            yield line.replace("\0", "") + "\n"

    reader = csv.reader(texts())
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            source.report.say(FAULT, source.name, f"line {last}", f"not CSV: {error}; skipped")
            continue
        if any(cell.strip() for cell in row):
            yield last, row


def objects(source: Source) -> Iterator[tuple[str, dict[str, str]]]:
    """(place, cells by the header's names) of the rows below a header of one line. A row with other than its cells is read as far as it goes."""
    header: list[str] | None = None
    for line, row in rows(source):
        if header is None:
            header = [name.strip() for name in row]
            continue
        if row == header:
            continue  # two files written one behind the other
        if len(row) != len(header):
            source.report.say(FAULT, source.name, f"line {line}", f"{len(row)} cells where the header has {len(header)}; read as far as they go")
            if len(row) < len(header):
                row = row[:-1]  # the last one may be cut as well
        yield f"line {line}", dict(zip(header, row))
