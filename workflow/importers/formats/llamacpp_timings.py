"""Answers of a llama.cpp server with their `timings`: a row a request, and one point over the requests of a file.

Times are the server's own: no queue, no network. `predicted_ms` begins at the first token, so the time per token divides by the tokens after it.
`draft_*` are absent where nothing was drafted. Without counts of verify steps the accept length can only be estimated, as tokens over tokens that were not
accepted drafts; it is marked so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median

from workflow.importers.fields import Fields
from workflow.importers.report import DROPPED, FAULT
from workflow.importers.result import Result, Seen

NAME, TOOL = "llamacpp-timings", "llama.cpp server timings"
MARKS = {"predicted_n", "predicted_ms", "prompt_ms"}


def matches(data: dict) -> bool:
    timings = data.get("timings", data)
    return isinstance(timings, dict) and MARKS <= timings.keys()


def collect(all_fields: Iterable[Fields], seen: Seen, file: str):
    """One point of all answers."""
    rows: list[dict] = []
    model, report = None, None
    for i, fields in enumerate(all_fields):
        report = fields.report
        timings = fields.section("timings") if "timings" in fields.data else fields
        model = fields.text("model") or model
        name = fields.text("id")
        row = request(timings, reason(fields))
        if row is None:
            report.say(FAULT, file, fields.place, "timings without token counts; skipped")
            continue
        rows.append(row | {"request_id": name or f"r{i}"})
    if not rows or report is None:
        return
    seen.tools.add(TOOL)
    seen.servers.add("llama.cpp")
    if model:
        seen.models.add(model)
    yield point(rows, model, report, file)


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


def point(rows: list[dict], model: str | None, report, file: str) -> Result:
    def values(name: str) -> list[float]:
        return [row[name] for row in rows if row[name] is not None]

    drafted, accepted = values("drafted"), values("accepted")
    columns: dict = {
        "backend": "llamacpp",
        "label": "llama.cpp",
        "lane": "spec" if sum(drafted) else "unknown",
        "model": model,
        "completed": len(rows),
        "num_prompts": len(rows),
        "total_input_tokens": sum(row["isl"] for row in rows),
        "total_output_tokens": sum(row["osl"] for row in rows),
        "drafted": sum(drafted) if drafted else None,
        "accepted": sum(accepted) if accepted else None,
        "note": "times of the server: without queue and network",
    }
    for ours in ("ttft", "tpot", "e2e"):
        found = values(f"{ours}_ms")
        if found:
            columns |= {f"mean_{ours}_ms": math.fsum(found) / len(found), f"median_{ours}_ms": median(found)}
    with_drafts = [row for row in rows if row["drafted"]]
    tokens, taken = sum(row["osl"] for row in with_drafts), sum(row["accepted"] or 0 for row in with_drafts)
    if with_drafts and 0 <= taken < tokens and all((row["accepted"] or 0) <= row["osl"] for row in with_drafts):
        columns |= {"accept_length": tokens / (tokens - taken), "accept_scope": "estimated"}
    elif with_drafts:
        report.say(DROPPED, file, "", "more drafts accepted than tokens predicted: drafts behind the stop were counted; no accept length")
    return Result("", columns, rows, computed=set(columns))
