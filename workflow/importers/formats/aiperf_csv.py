"""AIPerf's and genai-perf's CSVs: a block of statistics, a block of single values, blocks of telemetry, apart by blank lines.

genai-perf writes percentiles from the highest down and groups digits with commas; both put the unit behind the name. It is read by the header's words
and turned into the JSON summary's tree.
"""

from __future__ import annotations

import re

from workflow.importers import tables
from workflow.importers.fields import Fields
from workflow.importers.formats import aiperf
from workflow.importers.report import NOTE
from workflow.importers.result import Seen
from workflow.importers.source import Source

NAME, TOOL = "aiperf-csv", "AIPerf or genai-perf"
METRIC = re.compile(r"(?P<name>[^(]+?)\s*(?:\((?P<unit>[^)]*)\))?\s*")


def begins(source: Source) -> bool:
    first = source.head[0].lower().replace('"', "").split(",")
    return first[0].strip() == "metric" and ("value" in first[1:] or "avg" in first[1:])


def parse(source: Source, seen: Seen):
    data: dict = {}
    header: list[str] = []
    for line, row in tables.rows(source):
        words = [cell.strip().lower() for cell in row]
        if words[0] == "metric":
            header = words
            if "p99" in header and "p50" in header and header.index("p99") > header.index("p50"):
                data["tool"] = aiperf.TOOL
            continue
        if "metric" in words:
            header = []  # telemetry: it describes devices, not requests
            continue
        found = METRIC.fullmatch(row[0])
        if not header or not found:
            continue
        if len(row) != len(header):
            source.report.say("fault", source.name, f"line {line}", f"{len(row)} cells where the header has {len(header)}; read as far as they go")
        name = "_".join(found["name"].lower().split())
        values = {"avg" if word == "value" else word: cell for word, cell in zip(header[1:], row[1:])}
        data[name] = {"unit": found["unit"] or "", **values}
    source.report.say(NOTE, source.name, "", "values of this CSV are rounded to two places; the JSON summary beside it is not")
    yield from aiperf.read(Fields(data, source.name, "", source.report), seen)
