"""AIPerf's `profile_export.jsonl`: a record a request, of which one point over the file and its rows of requests are made.

Each metric is an object with its unit, as in the summaries. Stamps are wall clock in ns. Records of the warm-up stand in the same file and count
nowhere; a record with an error has a length at most. Accept counts are sums over steps: a record's own mean is not averaged again.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator
from statistics import median

from workflow.importers.fields import Fields
from workflow.importers.result import Result, Seen
from workflow.importers.spool import Spool
from workflow.importers.units import convert

NAME, TOOL = "aiperf-records", "AIPerf"
TIMES = {"ttft_ms": "time_to_first_token", "tpot_ms": "inter_token_latency", "e2e_ms": "request_latency"}
LENGTHS = {"isl": ("input_sequence_length", "usage_prompt_tokens", "error_isl"), "osl": ("output_sequence_length", "usage_completion_tokens")}
STEPS = {"rounds": "num_spec_steps", "drafted": "num_draft_tokens", "accepted": "num_accepted_draft_tokens"}
WARMUP = "warmup"
LEAST_FOR_P99 = 100
"""Fewer requests have no 99th percentile."""


def matches(data: dict) -> bool:
    about = data.get("metadata")
    return isinstance(about, dict) and "request_start_ns" in about and isinstance(data.get("metrics"), dict | None)


def quantity(metrics: Fields, name: str, ours: str) -> float | None:
    """A metric of one record in our unit; None where it has no number or no unit."""
    if not isinstance(metrics.data.get(name), dict):
        return None
    section = metrics.section(name)
    unit = section.text("unit")
    if unit is None:
        section.dropped("no unit beside the number; left empty")
        return None
    return section.number("value", unit=unit, ours=ours)


def stamp(value) -> int | None:
    """Nanoseconds of a wall clock, of which a float would lose the last hundreds."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def length(metrics: Fields, names: tuple[str, ...]) -> int | None:
    for name in names:
        if (found := quantity(metrics, name, "token")) is not None:
            return round(found)
    return None


class Records:
    """The records of one file; memory grows by a number a request and latency."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.rows = Spool()
        self.times = {name: array("d") for name in TIMES}
        self.sums = dict.fromkeys(("isl", "osl", *STEPS), 0)
        self.ok = self.failed = self.warmup = self.speculative = 0
        self.begin = self.end = None
        self.about: Fields | None = None

    def add(self, fields: Fields) -> None:
        """One record. A row needs both lengths; a failed one whose output is unknown wrote nothing."""
        self.about = fields
        about, metrics = fields.section("metadata"), fields.section("metrics")
        if (about.text("benchmark_phase") or "").lower() == WARMUP:
            self.warmup += 1
            return
        failed = fields.raw("error") is not None or about.raw("was_cancelled") is True
        begin, end = (stamp(about.raw(f"request_{name}_ns")) for name in ("start", "end"))
        row = {name: length(metrics, names) for name, names in LENGTHS.items()}
        if failed:
            row["osl"] = row["osl"] or 0
        if row["isl"] is None or row["osl"] is None:
            fields.dropped("a record without token counts is left out")
            return
        row |= {"request_id": about.text("x_request_id") or f"r{len(self.rows)}", "begin_ns": begin, "status": "failed" if failed else "ok"}
        if failed:
            self.failed += 1
        else:
            self.taken(row, fields, metrics)
        if begin is not None:
            self.begin = begin if self.begin is None else min(self.begin, begin)
        if end is not None:
            self.end = end if self.end is None else max(self.end, end)
        self.rows.append(row)

    def taken(self, row: dict, fields: Fields, metrics: Fields) -> None:
        """Latencies, tokens and accept counts of a record that ended well."""
        self.ok += 1
        for name, theirs in TIMES.items():
            row[name] = quantity(metrics, theirs, "ms")
            if row[name] is not None:
                self.times[name].append(row[name])
        row["cached_tokens"] = length(metrics, ("usage_prompt_cache_read_tokens",))
        for name in ("isl", "osl"):
            self.sums[name] += row[name]
        steps = fields.section("spec_decode_acceptance")
        counts = {name: steps.count(theirs) for name, theirs in STEPS.items()}
        if None not in counts.values():
            self.speculative += 1
            row |= {"drafted": counts["drafted"], "accepted": counts["accepted"]}
            for name, value in counts.items():
                self.sums[name] += value

    def requests(self) -> Iterator[dict]:
        """Rows with the time of sending counted from the first."""
        for row in self.rows:
            begin = row.pop("begin_ns")
            yield row if begin is None else {**row, "queued_s": convert(begin - self.begin, "ns", "s")}

    def results(self) -> Iterator[Result]:
        """The point of the file; none where no record counted."""
        if self.about is None:
            return
        if self.warmup:
            self.about.dropped(f"{self.warmup} records of the warm-up are left out")
        if not len(self.rows):
            return
        self.seen.tools.add(TOOL)
        columns = self.columns()
        yield Result("", columns, Rows(self), computed=set(columns))

    def columns(self) -> dict:
        known = self.begin is not None and self.end is not None and self.end > self.begin
        duration = convert(self.end - self.begin, "ns", "s") if known else None
        columns: dict = {
            "backend": "openai", "lane": "unknown", "label": TOOL, "completed": self.ok, "failed": self.failed, "num_prompts": self.ok + self.failed,
            "duration_s": duration,
        }  # fmt: skip
        if not self.ok:
            return columns | {"status": "rejected", "note": "no request completed, so its rates and latencies are none"}
        columns |= {"total_input_tokens": self.sums["isl"], "total_output_tokens": self.sums["osl"]}
        if duration:
            columns |= {"output_throughput": self.sums["osl"] / duration, "request_throughput": self.ok / duration}
        for name, found in self.times.items():
            if len(found):
                columns |= {f"mean_{name}": math.fsum(found) / len(found), f"median_{name}": median(found)}
            if len(found) >= LEAST_FOR_P99:
                columns[f"p99_{name}"] = sorted(found)[math.ceil(0.99 * len(found)) - 1]
        if self.sums["rounds"]:
            length = 1 + self.sums["accepted"] / self.sums["rounds"]
            columns |= {"lane": "spec", **{name: self.sums[name] for name in STEPS}, "accept_length": length, "accept_scope": "window"}
            if self.speculative < self.ok:
                self.about.note(f"{self.ok - self.speculative} of {self.ok} requests say nothing of their drafts; the accept length is over the others")
        return columns


class Rows(Collection):
    """The requests of a file, as often as they are asked for."""

    def __init__(self, records: Records) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records.rows)

    def __contains__(self, row: object) -> bool:
        return any(row == one for one in self)

    def __iter__(self) -> Iterator[dict]:
        return self.records.requests()
