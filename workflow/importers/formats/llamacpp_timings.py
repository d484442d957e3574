"""Answers of a llama.cpp server with their `timings`: a row a request, and one point over the requests of a file.

Times are the server's own: no queue, no network. `predicted_ms` begins at the first token, so the time per token divides by the tokens after it.
`draft_*` are absent where nothing was drafted. Without counts of verify steps the accept length can only be estimated, as tokens over tokens that were not
accepted drafts; it is marked so.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from statistics import median

from workflow.importers.fields import Fields
from workflow.importers.report import DROPPED, FAULT, Report
from workflow.importers.result import Result, Seen
from workflow.importers.spool import Spool

NAME, TOOL = "llamacpp-timings", "llama.cpp server timings"
MARKS = {"predicted_n", "predicted_ms", "prompt_ms"}


def matches(data: dict) -> bool:
    timings = data.get("timings", data)
    return isinstance(timings, dict) and MARKS <= timings.keys()


class Answers:
    """The answers of one file, without their texts, until its end. One that reports as it grows has one name: its last state counts."""

    def __init__(self) -> None:
        self.spool = Spool()
        self.last: dict[str, int] = {}

    def add(self, place: str, value: dict) -> None:
        if value.get("id"):
            self.last[str(value["id"])] = len(self.spool)
        self.spool.append({"place": place, "value": slim(value)})

    def fields(self, file: str, report: Report) -> Iterator[Fields]:
        for number, one in enumerate(self.spool):
            name = one["value"].get("id")
            if not name or self.last[str(name)] == number:
                yield Fields(one["value"], file, one["place"], report)


def slim(value: dict) -> dict:
    """An answer without its text."""
    kept = {name: value[name] for name in ("timings", "model", "id", "stop_type", *MARKS, "cache_n", "prompt_n", "draft_n", "draft_n_accepted") if name in value}
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        kept["choices"] = [{"finish_reason": choices[0].get("finish_reason")}]
    return kept


def collect(all_fields: Iterable[Fields], seen: Seen, file: str, report: Report) -> Iterator[Result]:
    """One point of all answers."""
    rows, sums = Spool(), Sums()
    model = None
    for i, fields in enumerate(all_fields):
        timings = fields.section("timings") if "timings" in fields.data else fields
        model = fields.text("model") or model
        name = fields.text("id")
        row = request(timings, reason(fields))
        if row is None:
            report.say(FAULT, file, fields.place, "timings without token counts; skipped")
            continue
        sums.take(row)
        rows.append(row | {"request_id": name or f"r{i}"})
    if not len(rows):
        return
    seen.tools.add(TOOL)
    seen.servers.add("llama.cpp")
    if model:
        seen.models.add(model)
    yield point(sums, rows, model, report, file)


def reason(fields: Fields) -> str | None:
    choices = fields.raw("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return Fields(choices[0], fields.file, fields.place, fields.report).text("finish_reason")
    kind = fields.text("stop_type")
    return {"eos": "stop", "word": "stop", "limit": "length"}.get(kind or "", kind)


def request(timings: Fields, finish: str | None) -> dict | None:
    fresh, cached, tokens = timings.count("prompt_n", missing=(-1,)), timings.count("cache_n"), timings.count("predicted_n", missing=(-1,))
    if fresh is None or tokens is None:
        return None
    whole = timings.number("predicted_ms", unit="ms", ours="ms", missing=(-1.0,))
    first = timings.number("prompt_ms", unit="ms", ours="ms", missing=(-1.0,))
    return {
        "isl": fresh + (cached or 0),
        "osl": tokens,
        "ttft_ms": first,
        "tpot_ms": whole / (tokens - 1) if whole is not None and tokens > 1 else None,
        "e2e_ms": first + whole if first is not None and whole is not None else None,
        "drafted": timings.count("draft_n"),
        "accepted": timings.count("draft_n_accepted"),
        "cached_tokens": cached,
        "finish_reason": finish,
        "status": "ok",
    }


class Sums:
    """What the point says of its requests, in one pass over them."""

    def __init__(self) -> None:
        self.isl = self.osl = self.drafted = self.accepted = self.tokens = self.taken = 0
        self.told = {"drafted": False, "accepted": False}
        self.sane = True
        self.times = {name: array("d") for name in ("ttft_ms", "tpot_ms", "e2e_ms")}

    def take(self, row: dict) -> None:
        self.isl += row["isl"]
        self.osl += row["osl"]
        self.drafted += row["drafted"] or 0
        self.accepted += row["accepted"] or 0
        for name in self.told:
            self.told[name] = self.told[name] or row[name] is not None
        for name, found in self.times.items():
            if row[name] is not None:
                found.append(row[name])
        if row["drafted"]:
            self.tokens += row["osl"]
            self.taken += row["accepted"] or 0
            self.sane = self.sane and (row["accepted"] or 0) <= row["osl"]


def point(sums: Sums, rows: Spool, model: str | None, report: Report, file: str) -> Result:
    columns: dict = {
        "backend": "llamacpp",
        "label": "llama.cpp",
        "lane": "spec" if sums.drafted else "unknown",
        "model": model,
        "completed": len(rows),
        "num_prompts": len(rows),
        "total_input_tokens": sums.isl,
        "total_output_tokens": sums.osl,
        "drafted": sums.drafted if sums.told["drafted"] else None,
        "accepted": sums.accepted if sums.told["accepted"] else None,
        "note": "times of the server: without queue and network",
    }
    for name, found in sums.times.items():
        if len(found):
            columns |= {f"mean_{name}": math.fsum(found) / len(found), f"median_{name}": median(found)}
    if sums.drafted and 0 <= sums.taken < sums.tokens and sums.sane:
        columns |= {"accept_length": sums.tokens / (sums.tokens - sums.taken), "accept_scope": "estimated"}
    elif sums.drafted:
        report.say(DROPPED, file, "", "more drafts accepted than tokens predicted: drafts behind the stop were counted; no accept length")
    return Result("", columns, rows, computed=set(columns))
