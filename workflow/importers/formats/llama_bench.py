"""llama-bench: JSON, one object a line, or CSV. Times are nanoseconds.

A row with n_gen only is decoding, one with n_prompt only is prefill, one with both is a mixture. Random tokens, no sampler, no server: an upper bound of
what serving can reach, so it never stands in a column of serving throughput. `avg_ts` is a mean of rates, not a rate of means; the single
repetitions, where they are listed, are rows of their own.
"""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.result import Result, Seen
from workflow.importers.units import convert

NAME, TOOL = "llama-bench", "llama-bench"


def matches(data: dict) -> bool:
    return "avg_ts" in data and {"n_prompt", "n_gen"} <= data.keys()


def read(fields: Fields, seen: Seen):
    build = fields.text("build_commit")
    seen.tools.add(TOOL)
    seen.servers.add(f"llama.cpp {build}" if build else "llama.cpp")
    prompt, generated, depth = (fields.count(name) or 0 for name in ("n_prompt", "n_gen", "n_depth"))
    kind = f"pp{prompt}+tg{generated}" if prompt and generated else f"tg{generated}" if generated else f"pp{prompt}"
    name = fields.text("model_type", "model_filename")
    columns = {
        "backend": "llamacpp",
        "label": kind + (f" @ d{depth}" if depth else ""),
        "lane": "plain",
        "model": name,
        "device": fields.text("gpu_info") or fields.text("cpu_info"),
        "threads": fields.count("n_threads", least=1),
        "dataset": "random-ids",
        "isl": prompt or None,
        "osl": generated or None,
        "max_concurrency": 1,
        "note": f"llama-bench: random tokens without sampler or server, batch {fields.text('n_batch')}/{fields.text('n_ubatch')}",
    }
    if name:
        seen.models.add(name)
    if day := fields.text("test_time"):
        seen.dates.add(day[:10])
    rates, times = fields.numbers("samples_ts"), fields.numbers("samples_ns")
    mean = (fields.number("avg_ts"), fields.number("avg_ns", unit="ns", ours="s"))
    if prompt and generated:
        fields.note("rows with prompt and generation mix two rates; kept as total_throughput")
    if rates and times and len(rates) == len(times):
        runs = [(rate, None if ns is None else convert(ns, "ns", "s"), i) for i, (rate, ns) in enumerate(zip(rates, times))]
    else:
        runs = [(*mean, None)]
    fields.ignore("stddev_ns", "stddev_ts", "build_number", "backends", "model_filename", "model_size", "model_n_params", "type_k", "type_v", "cpu_mask", "n_gpu_layers", "flash_attn")
    for rate, seconds, i in runs:
        row = columns | {"duration_s": seconds, "in_boot_pass": i}
        if generated and not prompt:
            row |= {"decode_throughput": rate, "decode_tokens": generated, "total_output_tokens": generated}
            if seconds:
                row |= {"step_ms": convert(seconds, "s", "ms") / generated, "step_source": "derived"}
        else:
            row |= {"total_throughput": rate}
        if prompt and not generated:
            row |= {"total_input_tokens": prompt}
        yield Result(fields.place, row, family="batch")
