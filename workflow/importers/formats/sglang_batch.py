"""SGLang's `bench_one_batch_server` and `bench_one_batch`: one batch, sent at once.

`output_throughput` is over the time behind the last first token, so it is a decode rate here and a whole-run rate in bench_serving. Times are seconds;
-1 stands for unknown; values are rounded to two to four places.
"""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.result import Result, Seen

NAME, TOOL = "sglang-bench-one-batch", "SGLang bench_one_batch"
MISSING = (-1.0,)


def matches(data: dict) -> bool:
    return {"run_name", "batch_size", "input_len", "output_len"} <= data.keys() and bool({"latency", "total_latency"} & data.keys())


def read(fields: Fields, seen: Seen):
    batch, isl, osl = (fields.count(name, least=1) for name in ("batch_size", "input_len", "output_len"))
    length = fields.number("acc_length", missing=(-1.0, 0.0, 1.0))
    served = "latency" in fields.data
    columns = {
        "backend": "sglang",
        "label": fields.text("run_name") or "sglang",
        "lane": "spec" if length is not None and length >= 1 else "unknown",
        "isl": isl,
        "osl": osl,
        "num_prompts": batch,
        "max_concurrency": batch,
        "duration_s": fields.number("latency", "total_latency", unit="s", ours="s"),
        "total_throughput": fields.number("overall_throughput", missing=MISSING),
        "total_output_tokens": fields.count("total_output_tokens", missing=MISSING),
        "cache_hit_rate": fields.number("cache_hit_rate", missing=MISSING),
    }
    computed = set()
    if batch and isl:
        columns["total_input_tokens"] = batch * isl
        computed.add("total_input_tokens")
    decode = fields.number("output_throughput", missing=MISSING)
    if decode is not None and osl and osl > 1:
        # the client counts every output token over the time behind the last first token; ours leaves each request's first token out
        columns["decode_throughput"] = decode * (osl - 1) / osl
        fields.note("output_throughput counts from the last first token: kept as decode_throughput, each request's first token left out")
    if columns["duration_s"] and columns["total_output_tokens"]:
        columns["output_throughput"] = columns["total_output_tokens"] / columns["duration_s"]
        computed.add("output_throughput")
    first = fields.number("last_ttft", "prefill_latency", missing=MISSING, unit="s", ours="ms")
    if first is not None and batch == 1:
        columns |= {"mean_ttft_ms": first, "median_ttft_ms": first}
    elif first is not None:
        fields.dropped("last_ttft is that of the last request of the batch and no mean; left out")
    if length is not None and length >= 1:
        columns |= {"accept_length": length, "accept_scope": "lifetime"}
    step = fields.number("median_decode_latency", missing=MISSING, unit="s", ours="ms")
    if step is not None:
        columns |= {"step_ms": step, "step_source": "steps"}
    if stopped := fields.count("num_early_stopped"):
        columns["note"] = f"{stopped} requests stopped before the output length"
    fields.ignore(
        "input_throughput", "last_gen_throughput", "steady_state_output_throughput", "steady_state_window_s", "prefill_throughput", "median_decode_throughput", "profile_link"
    )
    seen.tools.add(TOOL + ("_server" if served else ""))
    yield Result(fields.place, columns, computed=computed, family="batch")
