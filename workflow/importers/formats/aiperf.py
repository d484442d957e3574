"""AIPerf's and genai-perf's summaries, JSON: each metric is an object with its unit, which is read and never assumed.

`inter_token_latency` is (latency - TTFT) / (tokens - first chunk), everybody else's TPOT; gaps between chunks are `inter_chunk_latency`. Two accept
lengths: a mean over requests, and one over tokens, which is the pooled one kept here.
"""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.formats.serving import nothing_completed
from workflow.importers.result import Result, Seen

NAME, TOOL = "aiperf", "AIPerf"
LATENCIES = {"ttft": "time_to_first_token", "tpot": "inter_token_latency", "itl": "inter_chunk_latency", "e2e": "request_latency"}
RATES = {
    "output_throughput": ("output_token_throughput", "token/s"), "total_throughput": ("total_token_throughput", "token/s"), "request_throughput": ("request_throughput", "1/s"),
}  # fmt: skip
MARKS = ("request_latency", "output_token_throughput", "time_to_first_token", "inter_token_latency", "request_throughput")


def matches(data: dict) -> bool:
    return any(isinstance(data.get(name), dict) and "unit" in data[name] for name in MARKS)


def read(fields: Fields, seen: Seen):
    release = fields.text("aiperf_version")
    aiperf = release is not None or "schema_version" in fields.data or fields.text("tool") == TOOL
    seen.tools.add(f"{TOOL} {release}" if release else TOOL if aiperf else "genai-perf")
    config = fields.section("input_config")
    columns: dict = {
        "backend": "openai",
        "lane": "unknown",
        "label": "AIPerf" if aiperf else "genai-perf",
        "model": model(config),
        "completed": whole(fields, "request_count"),
        "failed": whole(fields, "error_request_count", "error_count"),
        "duration_s": metric(fields, "benchmark_duration", "avg", "s"),
        "total_input_tokens": whole(fields, "total_isl"),
        "total_output_tokens": whole(fields, "total_output_tokens", "total_osl"),
        "concurrency": metric(fields, "effective_concurrency", "avg", ""),
    }
    columns |= load(config)
    for ours, name in LATENCIES.items():
        for stat, theirs in (("mean", "avg"), ("median", "p50"), ("p99", "p99")):
            columns[f"{stat}_{ours}_ms"] = metric(fields, name, theirs, "ms")
    for ours, (name, unit) in RATES.items():
        columns[ours] = metric(fields, name, "avg", unit)
    acceptance(fields, columns)
    for key, word in (("was_cancelled", "the run was cancelled"), ("is_complete", "the run is not complete")):
        if fields.raw(key) is (key == "was_cancelled"):
            columns["note"] = word
            fields.note(word)
    if errors := fields.raw("error_summary"):
        fields.note(f"{len(errors)} kinds of errors in error_summary" if isinstance(errors, list) else "errors in error_summary")
    fields.ignore("schema_version", "benchmark_id", "start_time", "end_time", "telemetry_data", "telemetry_stats", "tool")
    if columns["model"]:
        seen.models.add(columns["model"])
    if (day := fields.text("start_time")) and day[:10].count("-") == 2:
        seen.dates.add(day[:10])
    nothing_completed(fields, columns)
    yield Result(fields.place, columns)


def metric(fields: Fields, name: str, stat: str, ours: str) -> float | None:
    """One statistic of a metric in our unit; None without a unit, since a number alone says nothing."""
    if not isinstance(fields.data.get(name), dict):
        return None
    section = fields.section(name)
    if section.data.get(stat) is None:
        return None
    unit = section.text("unit")
    if unit is None and ours:
        section.dropped("no unit beside the number; left empty")
        return None
    return section.number(stat, unit=unit or "", ours=ours) if ours else section.number(stat)


def whole(fields: Fields, *names: str) -> int | None:
    for name in names:
        if (found := metric(fields, name, "avg", "")) is not None:
            return round(found)
    return None


def model(config: Fields) -> str | None:
    names = config.section("endpoint").raw("model_names") or config.raw("model_names", "model")
    return str(names[0])[:200] if isinstance(names, list) and names else names if isinstance(names, str) else None


def load(config: Fields) -> dict:
    """Concurrency or rate asked for: AIPerf keeps it below `loadgen`, genai-perf below `perf_analyzer`."""
    plan = config.section("loadgen")
    stimulus = config.section("perf_analyzer").section("stimulus")
    level = plan.count("concurrency", least=1) or stimulus.count("concurrency", least=1)
    rate = plan.number("request_rate") or stimulus.number("request_rate")
    prompt = config.section("input").section("prompt")
    lengths = {
        "isl": prompt.section("input_tokens").count("mean", least=1) or config.section("input").section("synthetic_tokens").count("mean", least=1),
        "osl": prompt.section("output_tokens").count("mean", least=1) or config.section("input").section("output_tokens").count("mean", least=1),
    }
    return {"max_concurrency": level, "request_rate": rate or ("inf" if level else None), "num_prompts": plan.count("request_count", least=1)} | lengths


def acceptance(fields: Fields, columns: dict) -> None:
    pooled = metric(fields, "spec_decode_token_weighted_acceptance_length", "avg", "")
    mean = metric(fields, "spec_decode_acceptance_length", "avg", "")
    rate = metric(fields, "spec_decode_overall_draft_acceptance_rate", "avg", "share")
    if pooled is None and mean is not None:
        fields.note("the accept length is a mean over requests, not over rounds")
    found = pooled if pooled is not None else mean
    if found is not None and found >= 1:
        columns |= {"lane": "spec", "accept_length": found, "accept_scope": "requests"}
    elif rate is not None:
        columns["lane"] = "spec"
