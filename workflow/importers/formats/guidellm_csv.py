"""guidellm's CSV: three header lines (group, quantity with its unit, statistic), a benchmark a row, percentiles as a list in one cell.

It is turned into the JSON report's tree and read as that, so that both say the same.
"""

from __future__ import annotations

import json

from workflow.importers import tables
from workflow.importers.fields import Fields
from workflow.importers.formats import guidellm
from workflow.importers.result import Seen
from workflow.importers.source import Source

NAME, TOOL = "guidellm-csv", guidellm.TOOL
GROUPS = ("Run Info", "Request Counts", "Request Latency")
LATENCIES = {
    ("Request Latency", "Sec"): "request_latency", ("Time to First Token", "ms"): "time_to_first_token_ms", ("Inter Token Latency", "ms"): "inter_token_latency_ms",
    ("Time per Output Token", "ms"): "time_per_output_token_ms", ("Server Throughput", "Requests/Sec"): "requests_per_second",
    ("Server Throughput", "Concurrency"): "request_concurrency", ("Token Throughput", "Output Tokens/Sec"): "output_tokens_per_second",
    ("Token Throughput", "Total Tokens/Sec"): "tokens_per_second",
}  # fmt: skip
STATISTICS = {"Mean": "mean", "Median": "median", "Std Dev": "std_dev"}
P99 = -2
"""Place of the 99th percentile in a list that ends with the maximum."""


def begins(source: Source) -> bool:
    return bool(source.head) and all(group in source.head[0] for group in GROUPS)


def parse(source: Source, seen: Seen):
    header: list[list[str]] = []
    for line, row in tables.rows(source):
        if len(header) < 3:
            header.append(row)
            continue
        if len(row) != len(header[0]):
            source.report.say("fault", source.name, f"line {line}", f"{len(row)} cells where the header has {len(header[0])}; read as far as they go")
        benchmark, meta = tree(header, row)
        if release := meta.get("guidellm_version"):
            seen.tools.add(f"{TOOL} {release}")
        else:
            seen.tools.add(TOOL)
        yield guidellm.one(Fields(benchmark, source.name, f"line {line}", source.report), seen)


def tree(header: list[list[str]], row: list[str]) -> tuple[dict, dict]:
    metrics: dict = {"request_totals": {}}
    found: dict = {"metrics": metrics, "config": {}}
    profile, meta, index = {}, {}, None
    for group, quantity, stat, cell in zip(*(line + [""] * (len(header[0]) - len(line)) for line in header), row):
        status, _, unit = quantity.partition(" ")
        status, unit = (status.lower(), unit) if status in ("Successful", "Incomplete", "Errored") else ("total", quantity)
        if group == "Request Counts":
            metrics["request_totals"][quantity.lower()] = cell
        elif (group, unit) in LATENCIES:
            place = metrics.setdefault(LATENCIES[group, unit], {}).setdefault(status, {})
            if stat in STATISTICS:
                place[STATISTICS[stat]] = cell
            elif stat == "Percentiles":
                listed = json_of(cell)
                place["percentiles"] = {"p99": listed[P99]} if isinstance(listed, list) and len(listed) > 2 else {}
        elif (group, quantity) == ("Timings", "Duration"):
            found["duration"] = cell
        elif (group, quantity) == ("Benchmark", "Strategy"):
            found["config"]["strategy"] = {"type_": cell}
        elif (group, quantity) == ("Run Info", "Profile"):
            profile = json_of(cell) or {}
        elif (group, quantity) == ("Run Info", "Run Index"):
            index = cell
        elif (group, quantity) == ("Runtime Info", "Metadata"):
            meta = json_of(cell) or {}
    load(found["config"].get("strategy"), profile, index)
    return found, meta if isinstance(meta, dict) else {}


def load(strategy: dict | None, profile, index) -> None:
    """The CSV names the kind of load only; which number of the profile's list it was, its index says."""
    if not strategy or not isinstance(profile, dict) or not str(index or "").isdigit():
        return
    for ours, name in (("streams", "streams"), ("rate", "rate")):
        values = profile.get(name)
        if isinstance(values, list) and int(index) < len(values):
            strategy[ours] = values[int(index)]


def json_of(cell: str):
    try:
        return json.loads(cell)
    except ValueError:
        return None
