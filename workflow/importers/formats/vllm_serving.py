"""vLLM's `bench serve`: one object a file, a line with --append-result, an element of a sweep's summary.json or a row of its summary.csv.

The acceptance rate is a percentage, the rates by position are fractions of drafts, so that one plus their sum is the accept length. Only the 99th
percentile is written by default, and the end-to-end latency not at all: it is computed from the list of latencies (seconds, 0 for a failed request).
"""

from __future__ import annotations

import math
import re
from statistics import median

from workflow.importers.fields import Fields
from workflow.importers.formats.latencies import latencies
from workflow.importers.formats.serving import UNLIMITED, client_rows, family_of_server, nothing_completed
from workflow.importers.result import Result, Seen
from workflow.importers.units import convert

NAME, TOOL = "vllm-bench-serve", "vLLM bench serve"
METRICS = {"ttft": ("ttft",), "tpot": ("tpot",), "itl": ("itl",), "e2e": ("e2el",)}
KNOWN = (
    "endpoint_type", "tokenizer_id", "burstiness", "request_goodput", "max_output_tokens_per_s", "max_concurrent_requests", "rtfx", "generated_texts", "request_rate",
    "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps", "start_times", "queue_times", "goodput",
)  # fmt: skip
STATISTIC = re.compile(r"(?:mean|median|std|p[\d.]+)_[a-z0-9_]+_ms")


def matches(data: dict) -> bool:
    return "total_token_throughput" in data or {"num_prompts", "request_throughput", "output_throughput"} <= data.keys()


def read(fields: Fields, seen: Seen):
    server = fields.text("backend", "endpoint_type")
    rate = fields.raw("request_rate")
    columns = {
        "backend": family_of_server(server),
        "label": fields.text("label", "_benchmark_name") or server or "vllm",
        "model": fields.text("model_id"),
        "num_prompts": fields.count("num_prompts", least=1),
        "request_rate": "inf" if rate in ("inf", "Infinity", math.inf) else fields.number("request_rate") or None,
        "max_concurrency": fields.count("max_concurrency", missing=UNLIMITED, least=0),
        "duration_s": fields.number("duration", unit="s", ours="s"),
        "completed": fields.count("completed"),
        "failed": fields.count("failed"),
        "total_input_tokens": fields.count("total_input_tokens"),
        "total_output_tokens": fields.count("total_output_tokens"),
        "request_throughput": fields.number("request_throughput"),
        "output_throughput": fields.number("output_throughput"),
        "total_throughput": fields.number("total_token_throughput"),
        "mean_client_queue_ms": fields.number("mean_client_queue_time_ms", unit="ms", ours="ms"),
        "mean_scheduled_latency_ms": fields.number("mean_e2el_including_client_queue_ms", unit="ms", ours="ms"),
    }
    columns |= latencies(fields, METRICS, "ms")
    result = Result(fields.place, columns, client_rows(fields))
    speculation(fields, columns, result)
    whole_latency(fields, columns, result)
    nothing_completed(fields, columns)
    if columns["completed"] and columns.get("mean_ttft_ms") is None:
        fields.note("no time to first token: the client had no tokenizer, or counted no tokens")
    day = fields.text("date")
    if day and re.fullmatch(r"\d{8}-\d{6}", day):
        seen.dates.add(f"{day[:4]}-{day[4:6]}-{day[6:8]}")
    fields.ignore(*KNOWN, *filter(STATISTIC.fullmatch, fields.data))
    seen.tools.add(TOOL)
    if columns["model"]:
        seen.models.add(columns["model"])
    yield result


def speculation(fields: Fields, columns: dict, result: Result) -> None:
    """Counters of the timed window, summed over all engines."""
    length = fields.number("spec_decode_acceptance_length", missing=(-1.0,))
    rounds = fields.count("spec_decode_num_drafts")
    drafted, accepted = fields.count("spec_decode_draft_tokens"), fields.count("spec_decode_accepted_tokens")
    result.accept_rate = fields.number("spec_decode_acceptance_rate", unit="%", ours="share")
    shares = fields.numbers("spec_decode_per_position_acceptance_rates") or []
    result.per_position = [share for share in shares if share is not None] if None not in shares else []
    known = [value for value in (length, rounds, drafted, accepted) if value is not None]
    columns["lane"] = "spec" if known else "unknown"
    if not known:
        return
    columns |= {"rounds": rounds, "drafted": drafted, "accepted": accepted}
    if rounds and drafted and drafted % rounds == 0:
        columns["block_size"] = drafted // rounds
    if length is not None and length >= 1 and rounds != 0:
        columns |= {"accept_length": length, "accept_scope": "window"}


def whole_latency(fields: Fields, columns: dict, result: Result) -> None:
    """Latency of a request and achieved concurrency from the list of latencies, failed requests left out."""
    listed = fields.numbers("latencies")
    lengths, errors = fields.numbers("output_lens"), fields.raw("errors")
    if not listed:
        return
    good = [
        value for i, value in enumerate(listed)
        if value and not (lengths and i < len(lengths) and not lengths[i]) and not (isinstance(errors, list) and i < len(errors) and errors[i])
    ]  # fmt: skip
    if columns["completed"] is not None and len(good) != columns["completed"]:
        fields.dropped(f"latencies: {len(good)} of requests that ended well, {columns['completed']} completed; not used")
        return
    if not good:
        return
    if columns.get("mean_e2e_ms") is None:
        columns |= {"mean_e2e_ms": convert(math.fsum(good) / len(good), "s", "ms"), "median_e2e_ms": convert(median(good), "s", "ms")}
        result.computed |= {"mean_e2e_ms", "median_e2e_ms"}
    if columns["duration_s"]:
        columns["concurrency"] = math.fsum(good) / columns["duration_s"]
        result.computed.add("concurrency")
