"""Reefs of the columns: numbers of one row that contradict each other."""

from __future__ import annotations

from workflow.derive.reefs.evidence import Evidence, by_file, has, place
from workflow.derive.reefs.finding import BLOCKING, NOTE, WARNING, reef
from workflow.derive.reefs.pair import pairs


@reef("R35-thin-tail", WARNING)
def thin_tail(data: Evidence):
    """A 99th percentile of fewer than a hundred requests is the maximum under another name.

    Leave it out, or measure more requests.
    """
    bad = [row for row in data.points if has(row, "p99_e2e_ms", "completed") and row["completed"] < 100]
    for rows in by_file(bad):
        yield place(rows), f"p99 of {rows[0]['completed']:g} requests", len(rows)


@reef("R41-recomputed", BLOCKING, pair="plain")
def recomputed(data: Evidence):
    """A throughput is not its tokens over its duration.

    Read the file again; some column was scraped from another place.
    """
    bad = []
    for row in data.points:
        if not has(row, "duration_s", "output_throughput", "total_output_tokens") or not row["duration_s"]:
            continue
        if abs(row["total_output_tokens"] / row["duration_s"] / row["output_throughput"] - 1) > 0.005:
            bad.append(row)
    for rows in by_file(bad):
        known = pairs(rows, "output_throughput", lambda row: row["total_output_tokens"] / row["duration_s"], "total_output_tokens", "duration_s")
        yield place(rows), f"{known[0].said:.2f} token/s written, {known[0].true:.2f} recomputed", len(rows), known


@reef("R41-failed-checksum", BLOCKING)
def failed_checksum(data: Evidence):
    """Numbers of an imported file contradict each other: a checksum that must hold whatever was measured failed when it was read.

    Find out which of the two numbers is not what its name says, before any of them is used.
    """
    told = {}
    for name, manifest in data.manifests.items():
        for check, found in ((manifest.get("import") or {}).get("checks") or {}).items():
            if found["failed"]:
                told.setdefault(check, (name, found))
    for check, (name, found) in sorted(told.items()):
        yield f"{name} manifest, import.checks", f"{check}: {found['run'] - found['passed']} of {found['run']} fail, first {found['failed'][0]}", found["run"] - found["passed"]


@reef("R43-unlimited", NOTE)
def unlimited(data: Evidence):
    """The number of requests in flight is 0 or empty, which means unlimited and not none.

    Name the cap, or plot against the achieved concurrency.
    """
    bad = [row for row in data.points if not row["max_concurrency"]]
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} rows without a cap", len(rows)


@reef("R44-little", BLOCKING, pair="plain")
def little(data: Evidence):
    """Requests a second times their mean latency is not the achieved concurrency, which is arithmetic and cannot fail.

    One of the three was measured over another span.
    """
    bad = []
    for row in data.points:
        if not has(row, "request_throughput", "mean_e2e_ms", "concurrency") or not row["concurrency"]:
            continue
        off = row["request_throughput"] * row["mean_e2e_ms"] / 1000 / row["concurrency"] - 1
        if abs(off) > 0.02 or (row["max_concurrency"] and row["concurrency"] > row["max_concurrency"] + 1):
            bad.append(row)
    for rows in by_file(bad):
        columns = ("request_throughput", "mean_e2e_ms")
        known = pairs(rows, "concurrency", lambda row: row["request_throughput"] * row["mean_e2e_ms"] / 1000, *columns)
        yield place(rows), f"{known[0].true:.2f} by Little's law, {known[0].said:.2f} written", len(rows), known


@reef("R45-step-identity", WARNING)
def step_identity(data: Evidence):
    """Time per token times tokens a round is not the time of a step: something runs between the steps.

    Read the gaps between steps; a hidden queue or prefill of other requests lies there.
    """
    bad = []
    for row in data.speculative():
        if row["max_concurrency"] != 1 or not has(row, "decode_throughput", "decode_tokens", "steps", "step_ms", "between_ms"):
            continue
        step = 1000 * row["decode_tokens"] / row["steps"] / row["decode_throughput"]
        if abs(step / (row["step_ms"] + row["between_ms"]) - 1) > 0.1:
            bad.append(row)
    for rows in by_file(bad):
        yield place(rows), f"{len(rows)} cells are more than a tenth off", len(rows)


@reef("R46-two-rulers", BLOCKING, pair="ms")
def two_rulers(data: Evidence):
    """Plain decoding, one request at a time: the time of a step and one over the throughput are two readings of one thing and differ.

    Put numerator and denominator of a ratio on one clock.
    """
    bad = []
    for row in data.points:
        alone = row["lane"] == "plain" and row["max_concurrency"] == 1 and has(row, "decode_throughput", "step_ms", "between_ms")
        if alone and abs((row["step_ms"] + row["between_ms"]) * row["decode_throughput"] / 1000 - 1) > 0.03:
            bad.append(row)
    for rows in by_file(bad):
        columns = ("step_ms", "between_ms", "decode_throughput")
        known = pairs(rows, lambda row: row["step_ms"] + row["between_ms"], lambda row: 1000 / row["decode_throughput"], *columns)
        yield place(rows), f"step {known[0].said:.3f} ms, 1/throughput {known[0].true:.3f} ms", len(rows), known


@reef("R42-rounded", WARNING)
def rounded(data: Evidence):
    """Throughputs of a file have three significant digits at most: rounding may carry them over a threshold.

    Compute them again from the tokens and the duration, or take the tool's own file in the place of its printout.
    """
    for rows in by_file([row for row in data.points if has(row, "output_throughput") and row["output_throughput"]]):
        if len(rows) > 2 and all(f"{row['output_throughput']:.3g}" == f"{row['output_throughput']:.12g}" for row in rows):
            yield place(rows), f"{len(rows)} throughputs of three digits at most", len(rows)
