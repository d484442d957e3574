"""Reefs of the load: what was asked is not what was measured."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean, median

from workflow.derive.reefs.evidence import PROBING, Evidence, Row, by_file, has, place, run_of
from workflow.derive.reefs.finding import BLOCKING, NOTE, WARNING, reef
from workflow.derive.reefs.pair import Pair, cells, pairs

UNIQUE = ("heldout", "random-ids", "histories", "fixed")


def level_of(row) -> int:
    """Requests that a closed loop keeps in flight; 0 in an open loop, whose cap is no target, and where none is named."""
    return 0 if has(row, "mean_client_queue_ms") else int(row["max_concurrency"] or 0)


@reef("R1-warm-cache", BLOCKING)
def warm_cache(data: Evidence):
    """Prompts that were declared unique were served from the prefix cache.

    Flush the cache or boot afresh before each cell, or put a nonce in front of every prompt.
    """
    bad = [row for row in data.points if row["dataset"] in UNIQUE and has(row, "cache_hit_rate") and row["cache_hit_rate"] > 0.01]
    for rows in by_file(bad):
        worst = max(rows, key=lambda row: row["cache_hit_rate"])
        yield place(rows), f"up to {100 * worst['cache_hit_rate']:.1f} % of the prompt tokens of {worst['label']} came from the cache", len(rows)


@reef("R2-shared-prefix", WARNING)
def shared_prompts(data: Evidence):
    """One cell holds the same prompt twice although its prompts were declared unique.

    Draw prompts without replacement, or declare the sharing.
    """
    bad = []
    for row in data.points:
        ids = [request["prompt_id"] for request in data.requests_of(row) if request["prompt_id"] is not None]
        if row["dataset"] in ("heldout", "random-ids") and len(set(ids)) < len(ids):
            bad.append(row)
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} cells repeat a prompt", len(rows)


@reef("R3-client-queue", BLOCKING)
def client_queue(data: Evidence):
    """Requests arrived at a finite rate under a cap, and the time they waited in the client is not recorded.

    Record when each request was due, and count latency from there.
    """
    bad = [row for row in data.points if has(row, "request_rate", "max_concurrency") and not has(row, "mean_client_queue_ms")]
    for rows in by_file(bad):
        yield place(rows), f"rate {rows[0]['request_rate']:g}/s, cap {rows[0]['max_concurrency']:g}, no client queue time", len(rows)


@reef("R4-burst", WARNING)
def burst(data: Evidence):
    """Requests that were due at random times were sent in lumps.

    Raise the cap or lower the rate: released in lumps, they measure the burst.
    """
    bad = []
    for row in data.points:
        sent = sorted(request["queued_s"] for request in data.requests_of(row) if has(request, "queued_s"))
        if not has(row, "request_rate") or len(sent) < 8 or sent[-1] <= sent[0]:
            continue
        gaps = [b - a for a, b in pairwise(sent)]
        mean = fmean(gaps)
        dispersion = fmean((gap - mean) ** 2 for gap in gaps) / mean**2
        if dispersion > 2:
            bad.append((dispersion, row))
    for rows in by_file([row for _, row in bad]):
        yield place(rows), f"gaps vary {max(d for d, _ in bad):.1f} times as much as a Poisson stream's", len(rows)


@reef("R5-queueing", NOTE, pair="ms")
def queueing(data: Evidence):
    """The time to the first token is mostly a queue, not prefill.

    Call it queueing; read prefill at one request in flight.
    """
    alone = {(row["file"], row["stage"], row["label"]): row for row in data.points if row["max_concurrency"] == 1 and has(row, "mean_ttft_ms")}
    bad = []
    for row in data.points:
        base = alone.get((row["file"], row["stage"], row["label"]))
        if base and has(row, "mean_ttft_ms", "max_concurrency") and row["max_concurrency"] > 1 and row["mean_ttft_ms"] > 3 * base["mean_ttft_ms"]:
            bad.append(row)
    for rows in by_file(bad):
        worst = max(rows, key=lambda row: row["mean_ttft_ms"])
        yield place(rows), f"TTFT {worst['mean_ttft_ms']:.0f} ms with {worst['max_concurrency']:g} in flight", len(rows), [
            Pair(row["mean_ttft_ms"], base["mean_ttft_ms"], cells([row, base], "mean_ttft_ms"))
            for row in rows for base in [alone[row["file"], row["stage"], row["label"]]]
        ]  # fmt: skip


@reef("R6-start-burst", NOTE)
def start_burst(data: Evidence):
    """The first wave of a closed loop waited for its own prefill and carries the tail of TTFT.

    Show the plateau beside the full run, or leave the first wave out.
    """
    bad = []
    for row in data.points:
        level = level_of(row)
        waits = [request["ttft_ms"] for request in sorted(data.requests_of(row), key=lambda one: one["queued_s"] or 0) if has(request, "ttft_ms")]
        if level < 4 or len(waits) < 2 * level:
            continue
        first, rest = fmean(waits[:level]), fmean(waits[level:])
        if first > 3 * rest:
            bad.append(row)
    for rows in by_file(bad):
        yield place(rows), f"the first wave's TTFT is more than three times the rest's in {len(rows)} cells", len(rows)


@reef("R7-ramp", WARNING, pair="plain")
def ramp(data: Evidence):
    """Ramp-up and drain fill the run: the achieved concurrency is well below what the row is named after.

    Ask for more prompts, or compare plateaus.
    """
    bad = []
    for row in data.points:
        level = level_of(row)
        if level < 2 or not has(row, "concurrency"):
            continue
        if row["concurrency"] < 0.85 * level or (has(row, "plateau_share") and row["plateau_share"] < 0.7):
            bad.append(row)
    for rows in by_file(bad):
        worst = min(rows, key=lambda row: row["concurrency"] / row["max_concurrency"])
        yield place(rows), f"{worst['concurrency']:.1f} in flight on average where {worst['max_concurrency']:g} were asked for", len(rows), pairs(rows, "max_concurrency", "concurrency")


@reef("R8-few-prompts", BLOCKING, pair="plain")
def fewer_prompts_than_load(data: Evidence):
    """Fewer prompts than requests that should be in flight.

    Ask for at least five prompts for each request in flight.
    """
    bad = [row for row in data.points if has(row, "num_prompts", "max_concurrency") and row["num_prompts"] < row["max_concurrency"]]
    for rows in by_file(bad):
        yield place(rows), f"{rows[0]['num_prompts']:g} prompts for {rows[0]['max_concurrency']:g} in flight", len(rows), pairs(rows, "max_concurrency", "num_prompts")


@reef("R8-few-waves", WARNING)
def few_waves(data: Evidence):
    """Fewer than five waves of prompts: ramp-up and drain weigh heavily.

    Ask for five prompts for each request in flight, or read the plateau.
    """
    bad = [
        row for row in data.points
        if row["stage"] not in PROBING and has(row, "num_prompts") and 1 < level_of(row) <= row["num_prompts"] < 5 * level_of(row)
    ]
    for rows in by_file(bad):
        worst = min(rows, key=lambda row: row["num_prompts"] / row["max_concurrency"])
        yield place(rows), f"{worst['num_prompts']:g} prompts with {worst['max_concurrency']:g} in flight", len(rows)


@reef("R9-slow-client", BLOCKING, pair="ms")
def slow_client(data: Evidence):
    """The client's own event loop ran late, and its stamps with it, by more than a twentieth of the time between emissions.

    Give the client a processor of its own, or put fewer requests on one client.
    """
    bad = [row for row in data.points if (lag := _loop_lag(row)) and has(row, lag, "median_itl_ms") and row[lag] > 0.05 * row["median_itl_ms"]]
    for rows in by_file(bad):
        worst = max(rows, key=lambda row: row[_loop_lag(row)])
        yield place(rows), f"the event loop ran {worst[_loop_lag(worst)]:.1f} ms late, the median ITL is {worst['median_itl_ms']:.1f} ms", len(rows), [
            pair for row in rows for pair in pairs([row], "median_itl_ms", lambda row: row["median_itl_ms"] + row[_loop_lag(row)], _loop_lag(row))
        ]


def _loop_lag(row: Row) -> str | None:
    """Column that says how late the client's event loop ran; files without one of its own have it in another's place, in a closed loop."""
    if has(row, "client_loop_lag_ms"):
        return "client_loop_lag_ms"
    return None if has(row, "mean_client_queue_ms") else "client_lag_ms"


@reef("R9-late-sends", WARNING, pair="ms")
def late_sends(data: Evidence):
    """The client sent requests late: the load was lighter than its name.

    Compare scheduled latencies, which count from the time a request was due.
    """
    open_loop = [row for row in data.points if has(row, "client_lag_ms", "mean_client_queue_ms", "mean_e2e_ms")]
    for rows in by_file([row for row in open_loop if row["client_lag_ms"] > 0.05 * row["mean_e2e_ms"]]):
        yield place(rows), f"the client was up to {max(row['client_lag_ms'] for row in rows):.0f} ms late", len(rows), pairs(
            rows, "mean_e2e_ms", lambda row: row["mean_e2e_ms"] + row["client_lag_ms"], "client_lag_ms"
        )


@reef("R25-output-length", WARNING, pair="plain")
def output_length(data: Evidence):
    """End of text was to be ignored, and yet the outputs are not as long as was asked.

    Check that the server honours ignore_eos and that the context does not end first.
    """
    bad = []
    for row in data.points:
        counted = has(row, "total_output_tokens", "completed", "osl") and row["completed"]
        if row["ignore_eos"] == "on" and counted and abs(_output(row) / row["osl"] - 1) > 0.02:
            bad.append(row)
    for rows in by_file(bad):
        known = pairs(rows, "osl", _output, "total_output_tokens", "completed")
        yield place(rows), f"{known[0].true:.1f} tokens an output, {known[0].said:g} were asked for", len(rows), known


def _output(row: Row) -> float:
    """Mean length of an output, in tokens."""
    return row["total_output_tokens"] / row["completed"]


@reef("R25-ignored-end", WARNING)
def ignored_end(data: Evidence):
    """A speculative lane was measured past the end of text, where what is drafted is no longer text.

    Let requests stop where the text ends when acceptance is the question.
    """
    bad = [row for row in data.speculative() if row["ignore_eos"] == "on"]
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} speculative cells ignore the end of text", len(rows)


@reef("R26-one-token", BLOCKING, pair="plain")
def one_token(data: Evidence):
    """Requests gave one token each where more were asked for: the throughput is that of prefill.

    Look at the finish reasons; the requests were cut.
    """
    bad = [
        row for row in data.points
        if has(row, "total_output_tokens", "completed", "osl") and row["osl"] > 2 and row["total_output_tokens"] <= 1.05 * row["completed"]
    ]
    for rows in by_file(bad):
        yield place(rows), f"{rows[0]['completed']:g} requests, {rows[0]['total_output_tokens']:g} tokens", len(rows), pairs(
            [row for row in rows if row["completed"]], "osl", _output, "total_output_tokens", "completed"
        )


@reef("R27-input-length", WARNING, pair="plain")
def input_length(data: Evidence):
    """Prompts are not as long as the row says.

    Take the length from what the server counted, and exact lengths from a range ratio of 1.
    """
    bad = []
    for row in data.points:
        counted = has(row, "isl", "total_input_tokens", "completed") and row["completed"]
        if counted and abs(row["total_input_tokens"] / row["completed"] / row["isl"] - 1) > 0.02:
            bad.append(row)
    for rows in by_file(bad):
        known = pairs(rows, "isl", lambda row: row["total_input_tokens"] / row["completed"], "total_input_tokens", "completed")
        yield place(rows), f"{known[0].true:.1f} tokens a prompt, the row says {known[0].said:g}", len(rows), known


@reef("R33-failures", BLOCKING, pair="plain")
def failures(data: Evidence):
    """Requests failed: a server that refuses looks faster.

    Repeat the cell below the load at which requests fail, or rank with the failures in the count.
    """
    bad = []
    for row in data.points:
        total = (row["completed"] or 0) + (row["failed"] or 0)
        if total and (row["failed"] or 0) / total > 0.01:
            bad.append(row)
    for rows in by_file(bad):
        worst = max(rows, key=lambda row: row["failed"])
        yield place(rows), f"{worst['failed']:g} of {worst['failed'] + worst['completed']:g} requests failed", len(rows), pairs(
            rows, lambda row: (row["completed"] or 0) + row["failed"], lambda row: row["completed"] or 0, "completed", "failed"
        )


@reef("R33-unknown-failures", WARNING)
def unknown_failures(data: Evidence):
    """The file says how many requests completed and not how many failed.

    Do not rank such a row; measure again with a client that counts failures.
    """
    bad = [row for row in data.points if has(row, "completed") and row["failed"] is None]
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} rows without a count of failures", len(rows)


@reef("R37-cold-start", NOTE)
def cold_start(data: Evidence):
    """The first request of a cell took far longer to its first token than the others: something was still cold.

    Warm up every shape before the clock starts.
    """
    bad = []
    for row in data.points:
        waits = [request["ttft_ms"] for request in data.requests_of(row) if has(request, "ttft_ms")]
        if row["max_concurrency"] == 1 and len(waits) >= 3 and waits[0] > 3 * median(waits[1:]):
            bad.append(row)
    for rows in by_file(bad):
        yield place(rows), f"first TTFT above three times the median in {len(rows)} cells", len(rows)


@reef("R48-cut-stream", BLOCKING)
def cut_stream(data: Evidence):
    """A request counts as served although it ended after one token, for no reason that ends a request or for a limit that it had not reached.

    Count it as failed; the stream was cut.
    """
    asked = {run_of(row): row["osl"] for row in data.points}
    bad = [row for row in data.requests if row["status"] == "ok" and (row["osl"] or 0) <= 1 and _cut(row["finish_reason"], asked.get(run_of(row)))]
    for rows in by_file(bad):
        yield place(rows), f"finish reason {rows[0]['finish_reason']!r} after {rows[0]['osl'] or 0:g} token", len(rows)


def _cut(reason: str | None, asked: float | None) -> bool:
    """Whether one token is no answer: no end of text, nor the `asked` number of tokens."""
    return reason != "stop" and (reason != "length" or (asked or 0) > 1)
