"""From a cell and the records of its run to rows of the points, requests, steps and trace files."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from engine.backends.base import CAPACITIES
from engine.backends.server_config import ServerConfig
from engine.bench import metrics
from engine.bench.cells import Cell
from engine.bench.served import counted_rounds, drafting, osl_of, served_columns
from engine.bench.workloads import Prompt
from engine.config import EngineConfig
from engine.csvio import Row

BLOCKS = ("cap", "state_slots", "kv_pages", "prefill_budget", "new_token_reserve")


@dataclass(frozen=True)
class Place:
    """Where and when a cell ran."""

    run_id: str
    boot: int
    boot_id: str
    order: int
    started_s: float


def ended(record: dict) -> bool:
    return record["finish_reason"] in ("stop", "length")


def switch(value: object) -> object:
    """Switches of the engine as the columns write them."""
    return value if not isinstance(value, bool) else "on" if value else "off"


# Column of the points -> field of EngineConfig.
KNOBS = {
    "mode": "mode",
    "mem_fraction_static": "mem_fraction_static",
    "device_memory_bytes": "device_memory",
    "chunked_prefill_size": "chunked_prefill_size",
    "cuda_graph_max_bs": "cuda_graph_max_bs",
    "max_running_requests": "max_running_requests",
    "schedule_conservativeness": "schedule_conservativeness",
    "radix_cache": "radix_cache",
    "radix_strategy": "radix_strategy",
    "mamba_ssm_dtype": "mamba_ssm_dtype",
    "markov_head_type": "markov_head_type",
    "accept_rule": "accept_rule",
}
DRAFTING = {"markov_head_type": ("dspark",), "accept_rule": ("dspark", "dflash", "mtp", "lookup")}
"""Settings that only some lanes read."""


def knob_columns(config: EngineConfig | ServerConfig) -> Row:
    """The settings that a boot was asked for; empty where the engine or the lane has no such setting, or a server keeps its default."""
    if isinstance(config, ServerConfig):
        return {column: switch(config.settings[name]) for column, name in KNOBS.items() if name in config.settings}
    row: Row = {}
    for column, name in KNOBS.items():
        if hasattr(config, name) and config.lane in DRAFTING.get(column, (config.lane,)):
            row[column] = switch(getattr(config, name))
    if not row.get("device_memory_bytes"):
        # no budget: the fraction is of nothing
        row["device_memory_bytes"] = row["mem_fraction_static"] = None
    if row.get("radix_cache") == "off":
        row["radix_strategy"] = None
    if row.get("mode") != "graph":
        row["cuda_graph_max_bs"] = None
    return row


OF_BOOT = (*CAPACITIES, "free_huge_share", "server_version", "image_digest", "weights_revision")
"""Of a boot's server_info; the last three say which server and weights a foreign cell is about."""


def capacity_columns(info: dict, boot_s: float) -> Row:
    """What the boot came to."""
    return {"boot_s": boot_s, **{name: info[name] for name in OF_BOOT if info.get(name) is not None}}


def probe_columns(before: dict, after: dict) -> Row:
    names = {"copy_ms": "copy", "compute_ms": "compute"}
    moments = (("before", before), ("after", after))
    return {f"probe_{names[kind]}_{moment}_ms": probe[kind] for moment, probe in moments for kind in names if kind in probe}


def request_rows(run_id: str, prompts: Sequence[Prompt], records: Sequence[dict], arrivals: dict[str, float] | None = None) -> list[Row]:
    """One row a request, in the order of the prompts; failed ones are kept. `arrivals`: when each was due, in an open loop."""
    by_id = {record["request_id"]: record for record in records}
    rows: list[Row] = []
    for number, prompt in enumerate(prompts):
        record = by_id[f"r{number}"]
        ok = ended(record)
        osl, ids = osl_of(record), record["token_ids"]
        first, end = record["first_token_s"], record["end_s"]
        drafted = drafting(record)
        rows.append(
            {
                "run_id": run_id,
                "request_id": record["request_id"],
                "prompt_id": prompt.prompt_id,
                "content": prompt.content,
                "isl": record["isl"],
                "osl": osl,
                "arrival_s": (arrivals or {}).get(record["request_id"]),
                "queued_s": record["queued_s"],
                "scheduled_s": record["scheduled_s"],
                "first_token_s": first,
                "end_s": end,
                "ttft_ms": 1000.0 * (first - record["queued_s"]) if ok else None,
                "tpot_ms": metrics.tpot_ms(first, end, osl) if ok else None,
                "e2e_ms": 1000.0 * (end - record["queued_s"]) if ok else None,
                "rounds": record["rounds"] if drafted else None,
                "drafted": record["drafted"] if drafted else None,
                "accepted": record["accepted"] if drafted else None,
                "accepted_histogram": ";".join(map(str, record["accepted_histogram"] or ())) or None,
                "distinct_4gram_share": None if ids is None else metrics.distinct_share([ids]),
                "cached_tokens": record.get("cached_tokens"),
                "retractions": record.get("retractions"),
                "finish_reason": record["finish_reason"],
                "status": "ok" if ok else "failed",
                "output_sha": metrics.output_sha(ids) if ok and ids is not None else None,
            }
        )
    return rows


def short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def step_rows(run_id: str, steps: Sequence[dict]) -> list[Row]:
    return [
        {
            "run_id": run_id,
            "step": number,
            "kind": step["kind"],
            "start_s": round(step["start_s"], 6),
            "step_ms": round(step["step_ms"], 4),
            "running": step["running"],
            "queued": step["queued"],
            "positions": step["positions"],
            "committed": step["committed"],
            "emitted": step["emitted"],
            "draft_ms": short(step["draft_ms"]),
            "verify_ms": short(step["verify_ms"]),
            "commit_ms": short(step["commit_ms"]),
            "kv_usage": round(step["kv_usage"], 4),
            "state_usage": round(step["state_usage"], 4),
            "retracted": step.get("retracted"),
            "blocked_by": step.get("blocked_by") or None,
        }
        for number, step in enumerate(steps)
    ]


def load_columns(cell: Cell, place: Place) -> Row:
    """What a row says about its load, whether or not the cell succeeded."""
    return {
        "run_id": place.run_id,
        "stage": cell.stage,
        "label": cell.arm.label,
        "lane": cell.arm.lane,
        "boot": place.boot,
        "boot_id": place.boot_id,
        "repeat": cell.repeat,
        "in_boot_pass": cell.in_boot_pass,
        "order": place.order,
        "started_s": place.started_s,
        "block_size": cell.arm.block_size,
        "dataset": cell.workload.dataset,
        "content": cell.workload.content,
        "isl": cell.declared_isl,
        "osl": cell.osl,
        "num_prompts": cell.workload.num_prompts,
        "max_concurrency": cell.max_concurrency,
        "request_rate": "inf" if cell.request_rate is None or math.isinf(cell.request_rate) else cell.request_rate,
        "top_p": cell.sampling.top_p,
        "top_k": cell.sampling.top_k,
        "ignore_eos": "on" if cell.sampling.ignore_eos else "off",
    }


def result_columns(prompts: Sequence[Prompt], answer: dict, max_concurrency: int, drafts: bool = False) -> Row:
    """Everything measured in one cell. Only completed requests count; failed ones are counted as failed. `drafts`: the lane speculates."""
    done = [record for record in answer["requests"] if ended(record)]
    if not done:
        why = next((record["finish_reason"] for record in answer["requests"] if record["finish_reason"]), "no request was asked")
        return {"status": "rejected", "note": f"no request completed: {why}", "completed": 0, "failed": len(prompts)}
    steps = answer["steps"]
    tokens_in = sum(record["isl"] for record in done)
    tokens_out = sum(osl_of(record) for record in done)
    first_queued = min((record["queued_s"] for record in answer["requests"]), default=0.0)
    last_end = max((record["end_s"] for record in answer["requests"] if record["end_s"] is not None), default=answer["duration_s"])
    duration = last_end - first_queued
    e2e = [record["end_s"] - record["queued_s"] for record in done]
    row: Row = {
        "status": "ok",
        "duration_s": duration,
        "completed": len(done),
        "failed": len(prompts) - len(done),
        "total_input_tokens": tokens_in,
        "total_output_tokens": tokens_out,
        "request_throughput": len(done) / duration,
        "output_throughput": tokens_out / duration,
        "total_throughput": (tokens_in + tokens_out) / duration,
        **metrics.summary("ttft", [1000.0 * (record["first_token_s"] - record["queued_s"]) for record in done]),
        **metrics.summary("tpot", present(metrics.tpot_ms(r["first_token_s"], r["end_s"], osl_of(r)) for r in done)),
        **metrics.summary("itl", [gap for record in done for gap in metrics.itl_ms(record["emissions_s"])]),
        **metrics.summary("e2e", [1000.0 * value for value in e2e]),
        "concurrency": sum(e2e) / duration,
        "truncated": sum(record["finish_reason"] == "length" for record in done),
        **plateau_columns(answer, max_concurrency),
        **memory_columns(answer, done, tokens_in),
        **timetable_columns(done, answer.get("arrivals_s") or {}),
        "distinct_4gram_share": metrics.distinct_share([record["token_ids"] for record in done if record["token_ids"] is not None]),
    }
    rounds = round_columns(done) or counted_rounds(answer.get("acceptance"), done)
    if "log_step_ms" in answer:
        return {**row, **rounds, **served_columns(answer, done, rounds.get("emitted_per_round"), row["mean_tpot_ms"], drafts)}
    return {**row, **step_columns(steps), **decode_columns(steps), **rounds}


def step_columns(steps: Sequence[dict]) -> Row:
    """What the engine's own step rows say of memory and queue; empty where they do not say it, for nothing counted is not zero."""
    row: Row = {
        "kv_usage_max": max((step["kv_usage"] for step in steps), default=None),
        "state_usage_max": max((step["state_usage"] for step in steps), default=None),
        "queue_max": max((step["queued"] for step in steps), default=None),
        "retracted": known_sum(step.get("retracted") for step in steps),
        "step_source": "steps",
    }
    if steps and all(step.get("blocked_by") is not None for step in steps):
        waits = Counter(step["blocked_by"] for step in steps)
        row |= {f"blocked_by_{why}": waits[why] for why in BLOCKS}
    return row


def known_sum(counts: Iterable[int | None]) -> int | None:
    """The sum of counts that are all known; None where one is not, or where there is none."""
    found = list(counts)
    return sum(found) if found and None not in found else None


def plateau_columns(answer: dict, max_concurrency: int) -> Row:
    """Throughput while at least nine tenths of the allowed requests were in flight: without ramp-up and drain.

    Empty where that many were never in flight. The span runs from the first to the last moment at which they were. Tokens are those of
    the engine's steps; of a server, which hands out none, those of each request's emissions, where all of these are counted.
    """
    moments = []
    for record in answer["requests"]:
        if record["end_s"] is not None:
            moments += [(record["queued_s"], 1), (record["end_s"], -1)]
    wanted, running, begin, end = 0.9 * max_concurrency, 0, None, None
    for at, change in sorted(moments):
        if running >= wanted:
            end = at
        running += change
        if running >= wanted and begin is None:
            begin = at
    if begin is None or end is None or end <= begin:
        return {}
    ends = [(step["start_s"] + step["step_ms"] / 1000.0, step["emitted"]) for step in answer["steps"]] or emissions(answer["requests"])
    if not ends:
        return {}
    tokens = sum(count for at, count in ends if begin < at <= end)
    return {"plateau_output_throughput": tokens / (end - begin), "plateau_share": (end - begin) / answer["duration_s"]}


def emissions(records: Sequence[dict]) -> list[tuple[float, int]]:
    """(moment, tokens) of every emission of the requests that ended; none where one request's emissions do not add up to its output."""
    found: list[tuple[float, int]] = []
    for record in records:
        if not ended(record):
            continue
        counts, moments = record.get("emission_tokens") or [], record["emissions_s"]
        if None in counts and len(moments) == osl_of(record):
            # a chunk a token, whatever else the server said of it
            counts = [1] * len(moments)
        if None in counts or len(counts) != len(moments) or sum(counts) != osl_of(record):
            return []
        found += zip(moments, counts, strict=True)
    return found


def memory_columns(answer: dict, done: Sequence[dict], tokens_in: int) -> Row:
    """Share of the prompt tokens that the prefix cache gave, known of every request or not at all, and the largest transient use of memory."""
    row: Row = {}
    cached = [record.get("cached_tokens") for record in done]
    if all(count is not None for count in cached):
        row["cache_hit_rate"] = sum(cached) / tokens_in if tokens_in else 0.0
    if answer.get("activation_peak_bytes") is not None:
        row["activation_peak_bytes"] = answer["activation_peak_bytes"]
    return row


def timetable_columns(done: Sequence[dict], arrivals: dict[str, float]) -> Row:
    """Open loop: how late the client sent, and latencies that count from the time a request was due. Empty in a closed loop."""
    due = [(record, arrivals[record["request_id"]]) for record in done if record["request_id"] in arrivals]
    if not due:
        return {}
    waits = [1000.0 * (record["queued_s"] - at) for record, at in due]
    firsts = [1000.0 * (record["first_token_s"] - at) for record, at in due if record.get("first_token_s") is not None]
    return {
        **metrics.summary("scheduled_ttft", firsts),
        "client_lag_ms": max(waits),
        "mean_client_queue_ms": fmean(waits),
        "mean_scheduled_latency_ms": fmean(1000.0 * (record["end_s"] - at) for record, at in due),
    }


def present(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def decode_columns(steps: Sequence[dict]) -> Row:
    """Means over decode and round steps; prefill steps are left out, and so are the gaps beside them."""
    decode = [step for step in steps if step["kind"] != "prefill"]
    if not decode:
        return {"steps": 0, "decode_tokens": 0}
    gaps = [
        1000.0 * (later["start_s"] - earlier["start_s"]) - earlier["step_ms"]
        for earlier, later in itertools.pairwise(steps)
        if earlier["kind"] != "prefill" and later["kind"] != "prefill"
    ]
    # two readings of one clock in the other order: nothing lay between
    between = max(0.0, fmean(gaps)) if gaps else 0.0
    tokens = sum(step["emitted"] for step in decode)
    wall_ms = sum(step["step_ms"] for step in decode) + between * len(decode)

    def mean(value: Callable[[dict], float]) -> float:
        return fmean(value(step) for step in decode)

    whole = {"steps": len(decode), "decode_tokens": tokens, "decode_throughput": 1000.0 * tokens / wall_ms}
    whole |= {"step_ms": mean(lambda step: step["step_ms"]), "between_ms": between}
    if any(step["verify_ms"] is None for step in decode):
        return whole
    other = mean(lambda step: step["step_ms"] - step["draft_ms"] - step["verify_ms"] - step["commit_ms"])
    return {
        **whole,
        "draft_ms": mean(lambda step: step["draft_ms"]),
        "verify_ms": mean(lambda step: step["verify_ms"]),
        "commit_ms": mean(lambda step: step["commit_ms"]),
        "other_ms": max(0.0, other),
    }


def round_columns(done: Sequence[dict]) -> Row:
    """Acceptance, pooled over the set: sums over sums, never a mean of prompts. Empty in the plain lane."""
    known = [record for record in done if drafting(record)]
    rounds = sum(record["rounds"] for record in known)
    if not rounds:
        return {}
    accepted = sum(record["accepted"] for record in known)
    drafted = [record["drafted"] for record in known]
    return {
        "rounds": rounds,
        "drafted": None if None in drafted else sum(drafted),
        "accepted": accepted,
        "accept_length": 1.0 + accepted / rounds,
        "emitted_per_round": sum(osl_of(record) - 1 for record in known) / rounds,
    }


def trace_rows(cell: Cell, campaign: str, prompt: Prompt, record: dict, text_of: Callable[[int], str]) -> list[Row]:
    """The rounds of one request, a row a position: anchor, drafts, bonus."""
    rows: list[Row] = []
    output = record["token_ids"]
    # the prefill emitted the first token; it anchors the first round
    known = 1
    for number, one in enumerate(record["trace"]):
        at = len(prompt.ids) + known - 1
        common = {
            "campaign": campaign,
            "run_id": "trace",
            "request_id": record["request_id"],
            "lane": cell.arm.lane,
            "block_size": cell.arm.block_size,
            "content": prompt.content,
            "round": number,
            "start_s": one["start_s"],
            "draft_ms": one["draft_ms"],
            "verify_ms": one["verify_ms"],
            "commit_ms": one["commit_ms"],
        }
        emitted = len(one["emitted"])
        anchor = output[known - 1]
        rows.append({**common, "role": "anchor", "slot": 0, "position": at, "token": anchor, "text": text_of(anchor), "emitted": 0})
        q, p = one["draft_probs"], one["target_probs"]
        for slot, token in enumerate(one["drafted"], start=1):
            rows.append(
                {
                    **common,
                    "role": "draft",
                    "slot": slot,
                    "position": at + slot,
                    "token": token,
                    "text": text_of(token),
                    "q": q[slot - 1] if q else None,
                    "p": p[slot - 1] if p else None,
                    "accepted": int(slot <= one["accepted"]),
                    "emitted": int(slot <= min(one["accepted"], emitted)),
                }
            )
        bonus = one["accepted"] + 1
        if emitted >= bonus:
            token = one["emitted"][bonus - 1]
            rows.append(
                {**common, "role": "bonus", "slot": bonus, "position": at + bonus, "token": token, "text": text_of(token), "emitted": 1}
            )
        known += emitted
    return rows
