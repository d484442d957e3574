"""guidellm's reports, JSON: version 2 and the older trees below the same `benchmarks`.

`request_latency` is in seconds beside keys in milliseconds. `time_per_output_token_ms` divides the whole latency by the tokens, first token included;
`inter_token_latency_ms` is what everybody else calls TPOT. Requests that a time limit cut are `incomplete` and count in `total` only.
"""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.formats.serving import nothing_completed
from workflow.importers.result import Result, Seen
from workflow.importers.values import NoNumber, number

NAME, TOOL = "guidellm", "guidellm"
LATENCIES = {"ttft": ("time_to_first_token_ms", "ms"), "tpot": ("inter_token_latency_ms", "ms"), "e2e": ("request_latency", "s")}
VERSIONS = (1, 2)


def matches(data: dict) -> bool:
    return isinstance(data.get("benchmarks"), list) and ("metadata" in data or any(is_benchmark(one) for one in data["benchmarks"]))


def is_benchmark(one) -> bool:
    return isinstance(one, dict) and isinstance(one.get("metrics"), dict) and "request_totals" in one["metrics"]


def read(fields: Fields, seen: Seen):
    meta = fields.section("metadata")
    version, release = meta.raw("version"), meta.text("guidellm_version")
    if version not in (None, *VERSIONS):
        fields.note(f"report version {version!r}: newer than {VERSIONS[-1]}; read by the keys it shares with that")
    seen.tools.add(f"{TOOL} {release}" if release else TOOL)
    fields.ignore("config", "args", "conclusions")
    for i, benchmark in enumerate(fields.raw("benchmarks")):
        place = f"{fields.place} benchmarks[{i}]".strip()
        if not is_benchmark(benchmark):
            fields.report.say("fault", fields.file, place, "no metrics with request_totals; skipped")
            continue
        yield one(Fields(benchmark, fields.file, place, fields.report), seen)


def one(fields: Fields, seen: Seen) -> Result:
    metrics = fields.section("metrics")
    totals = metrics.section("request_totals")
    incomplete = totals.count("incomplete") or 0
    columns: dict = {
        "backend": "openai",
        "lane": "unknown",
        "completed": totals.count("successful"),
        "failed": totals.count("errored"),
        "num_prompts": totals.count("total", least=1),
        "duration_s": duration(fields),
    }
    columns |= strategy(fields)
    for ours, (key, unit) in LATENCIES.items():
        summary = metrics.section(key).section("successful")
        columns |= {
            f"mean_{ours}_ms": summary.number("mean", unit=unit, ours="ms"),
            f"median_{ours}_ms": summary.number("median", unit=unit, ours="ms"),
            f"p99_{ours}_ms": summary.section("percentiles").number("p99", unit=unit, ours="ms"),
        }
    if "time_per_output_token_ms" in metrics.data:
        metrics.ignore("time_per_output_token_ms")
        metrics.dropped("time_per_output_token_ms contains the time to the first token; TPOT is taken from inter_token_latency_ms")
    for ours, key in (("output_throughput", "output_tokens_per_second"), ("total_throughput", "tokens_per_second")):
        columns[ours] = rate(metrics, key, incomplete)
    columns |= {
        "request_throughput": metrics.section("requests_per_second").section("successful").number("mean"),
        "concurrency": metrics.section("request_concurrency").section("successful").number("mean"),
    }
    for ours, key in (("total_input_tokens", "prompt_token_count"), ("total_output_tokens", "output_token_count")):
        found = metrics.section(key).section("successful").number("total_sum")
        # rates count what was cut off as well, so these totals would not be their tokens
        columns[ours] = round(found) if found is not None and not incomplete else None
    if incomplete:
        fields.note(f"{incomplete} requests were cut by the time limit: rates count their tokens, latencies do not")
    nothing_completed(fields, columns)
    return Result(fields.place, columns, requests(fields))


def rate(metrics: Fields, key: str, incomplete: int) -> float | None:
    """Tokens a second over all requests; those that ended well only where nothing was cut."""
    section = metrics.section(key)
    found = section.section("total").number("mean")
    if found is None and not incomplete:
        found = section.section("successful").number("mean")
    elif found is None:
        metrics.dropped(f"{key}: no total, and requests were cut, so the rate of those that ended well is too low; left empty")
    return found


def duration(fields: Fields) -> float | None:
    found = fields.number("duration", unit="s", ours="s")
    if found is None:
        times = fields.section("scheduler_metrics")
        ends = [times.number(f"measure_{end}_time", least=None) for end in ("start", "end")]
        if None in ends:
            ends = [fields.number(f"{end}_time", least=None) for end in ("start", "end")]
        found = ends[1] - ends[0] if None not in ends and ends[1] >= ends[0] else None
    return found


def strategy(fields: Fields) -> dict:
    """Load from the strategy; older reports keep it below `args`."""
    config = fields.section("config", "args")
    plan = config.section("strategy")
    kind = plan.text("type_", "type")
    columns: dict = {"label": f"guidellm {kind}" if kind else "guidellm"}
    if kind == "synchronous":
        columns["max_concurrency"] = 1
    elif kind in ("concurrent", "throughput"):
        columns["max_concurrency"] = plan.count("streams", "max_concurrency", least=1)
    elif kind in ("constant", "poisson", "async"):
        columns["request_rate"] = plan.number("rate") or None
        columns["max_concurrency"] = plan.count("max_concurrency", least=1)
    if kind in ("synchronous", "concurrent", "throughput"):
        columns["request_rate"] = "inf"
    return columns


def requests(fields: Fields) -> list[dict]:
    """Rows of the requests that the report keeps; one without token counts is left out."""
    kept = fields.section("requests")
    rows: list[dict] = []
    for status, ours in (("successful", "ok"), ("errored", "failed")):
        for data in kept.raw(status) or ():
            if not isinstance(data, dict):
                continue
            each = Fields(data, fields.file, fields.place, fields.report, f"requests.{status}.")
            isl, osl = tokens(each, "prompt_tokens", "input_metrics"), tokens(each, "output_tokens", "output_metrics")
            if isl is None or osl is None:
                each.dropped("a request without token counts is left out")
                continue
            row = {"request_id": each.text("request_id") or f"r{len(rows)}", "isl": isl, "osl": osl, "status": ours}
            if ours == "ok":
                row |= {
                    "ttft_ms": each.number("time_to_first_token_ms", unit="ms", ours="ms"),
                    "tpot_ms": each.number("inter_token_latency_ms", unit="ms", ours="ms") if osl > 1 else None,
                    "e2e_ms": each.number("request_latency", unit="s", ours="ms"),
                }
            rows.append(row)
    return rows


def tokens(each: Fields, key: str, section: str) -> int | None:
    found = each.raw(key)
    if found is None:
        found = each.section(section).raw("total_tokens", "text_tokens")
    try:
        return None if (value := number(found)) is None or value < 0 else int(value)
    except NoNumber:
        return None
