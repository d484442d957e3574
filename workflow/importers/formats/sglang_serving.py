"""SGLang's `bench_serving`: one JSON object a line, the file is appended to.

`*_ms` are milliseconds, `duration` and the lists of details seconds. `accept_length` is the server's average since it started (its first data-parallel
rank only); zero completed requests leave zeros in every latency. `random_*` lengths are written for every data set and mean something for random ones only.
"""

from __future__ import annotations

import math

from workflow.importers.fields import Fields
from workflow.importers.formats.latencies import latencies
from workflow.importers.formats.serving import LANES, UNLIMITED, client_rows, family_of_server, nothing_completed
from workflow.importers.result import Result, Seen

NAME, TOOL = "sglang-bench-serving", "SGLang bench_serving"
METRICS = {"ttft": ("ttft",), "tpot": ("tpot",), "itl": ("itl",), "e2e": ("e2e_latency",)}
KNOWN = (
    "random_range_ratio", "sharegpt_output_len", "total_output_tokens_retokenized", "total_input_text_tokens", "total_input_vision_tokens", "max_output_tokens_per_s",
    "max_concurrent_requests", "generated_texts", "goodput_slos_ms", "request_goodput", "slo_attainment", "slo_attainment_by_metric", "input_throughput", "lora_names",
)  # fmt: skip
"""Keys that are understood and have no column."""


def matches(data: dict) -> bool:
    return "output_throughput" in data and "request_throughput" in data and ("total_throughput" in data or "mean_e2e_latency_ms" in data) and "num_prompts" not in data


def read(fields: Fields, seen: Seen):
    server = fields.text("backend")
    backend = family_of_server(server)
    info = fields.section("server_info")
    columns = {"backend": backend, "label": fields.text("tag") or server or "sglang"}
    columns |= knobs(info, seen, columns)
    columns |= load(fields)
    columns |= {
        "duration_s": fields.number("duration", unit="s", ours="s"),
        "completed": fields.count("completed"),
        "total_input_tokens": fields.count("total_input_tokens"),
        "total_output_tokens": fields.count("total_output_tokens"),
        "request_throughput": fields.number("request_throughput"),
        "output_throughput": fields.number("output_throughput"),
        "total_throughput": fields.number("total_throughput"),
        "concurrency": fields.number("concurrency"),
        "cache_hit_rate": fields.section("cache_report").number("cache_hit_rate_pct", unit="%", ours="share"),
    }
    columns |= latencies(fields, METRICS, "ms")
    fields.ignore(*KNOWN, *(f"{word}_{name}_ms" for word in ("std", "p90", "p95", "max") for (name,) in METRICS.values()))
    lane(fields, info, columns)
    result = Result(fields.place, columns, client_rows(fields))
    if result.requests:
        count = len(result.requests)
        columns |= {"num_prompts": count, "failed": sum(one["status"] == "failed" for one in result.requests)}
        result.computed |= {"num_prompts", "failed"}
    nothing_completed(fields, columns)
    seen.tools.add(TOOL)
    yield result


def knobs(info: Fields, seen: Seen, columns: dict) -> dict:
    """The server's own settings, where the client recorded /server_info."""
    if not info.data:
        return {}
    version, model = info.text("version"), info.text("served_model_name", "model_path")
    if version:
        seen.servers.add(f"SGLang {version}")
    radix = info.raw("disable_radix_cache")
    states = info.raw("internal_states")
    state = states[0] if isinstance(states, list) and states and isinstance(states[0], dict) else {}
    inner = Fields(state, info.file, info.place, info.report, "server_info.internal_states.")
    return {
        "model": model,
        "mem_fraction_static": info.number("mem_fraction_static"),
        "chunked_prefill_size": info.count("chunked_prefill_size", missing=(-1,), least=1),
        "cuda_graph_max_bs": info.count("cuda_graph_max_bs"),
        "max_running_requests": info.count("max_running_requests", least=1),
        "schedule_conservativeness": info.number("schedule_conservativeness"),
        "radix_cache": None if radix is None else "off" if radix else "on",
        "mamba_ssm_dtype": info.text("mamba_ssm_dtype"),
        "max_total_num_tokens": info.count("max_total_num_tokens") or inner.count("max_total_num_tokens"),
        "effective_max_running_requests": inner.count("effective_max_running_requests_per_dp"),
    }


def load(fields: Fields) -> dict:
    dataset = fields.text("dataset_name")
    lengths = (fields.count("random_input_len", least=1), fields.count("random_output_len", least=1))
    ratio = fields.number("random_range_ratio")
    random = bool(dataset) and dataset.startswith("random")
    if random and ratio not in (None, 1.0):
        fields.note(f"random_range_ratio {ratio:g}: lengths vary below the ones that the row names")
    rate = fields.raw("request_rate")
    if rate == "trace":
        fields.dropped("request_rate: 'trace', arrivals as in a trace; left empty")
        rate = None
    endless = rate in (math.inf, "inf", "Infinity")
    return {
        "dataset": dataset,
        "isl": lengths[0] if random else None,
        "osl": lengths[1] if random else fields.count("sharegpt_output_len", least=1) if dataset == "sharegpt" else None,
        "request_rate": "inf" if endless else None if rate is None else fields.number("request_rate"),
        "max_concurrency": fields.count("max_concurrency", missing=UNLIMITED, least=0),
    }


def lane(fields: Fields, info: Fields, columns: dict) -> None:
    """Lane, γ and accept length, which on this client is a lifetime average."""
    length = fields.number("accept_length", missing=(-1, 1.0))
    if length is not None and length < 1:
        fields.dropped(f"accept_length: {length:g} is below one, so the bonus token is not counted; left empty")
        length = None
    algorithm = info.raw("speculative_algorithm")
    if "speculative_algorithm" in info.data:
        columns["lane"] = LANES.get(str(algorithm).upper(), "spec") if algorithm else "plain"
    else:
        columns["lane"] = "spec" if length is not None else "unknown"
    width, branches = info.count("speculative_num_draft_tokens"), info.count("speculative_eagle_topk")
    # the verify window has the anchor too; a tree of drafts has no one block size
    if columns["lane"] not in ("plain", "unknown") and width and width > 1 and branches in (None, 1):
        columns["block_size"] = width - 1
    if str(fields.data.get("backend", "")).startswith("sglang-oai") and columns.get("mean_itl_ms") is not None:
        fields.dropped("itl: this client spreads a chunk's gap over its tokens, so it is no gap between emissions; left empty")
        columns |= dict.fromkeys(("mean_itl_ms", "median_itl_ms", "p99_itl_ms"))
    if columns["lane"] == "plain" or length is None:
        return
    ranks = info.count("dp_size")
    columns |= {"accept_length": length, "accept_scope": "one_rank" if (ranks or 1) > 1 else "lifetime"}
    fields.note(
        "accept_length is the server's average since it started, warm-up included"
        + (f", of the first of {ranks} data-parallel ranks" if (ranks or 1) > 1 else "") + "; marked in accept_scope"
    )  # fmt: skip
