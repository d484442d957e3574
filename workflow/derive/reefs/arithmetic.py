"""Reefs of the columns: numbers of one row that contradict each other."""

from __future__ import annotations

from functools import partial

from workflow.derive.fact import Cell
from workflow.derive.reefs.evidence import Evidence, Row, by_file, has, place
from workflow.derive.reefs.finding import BLOCKING, NOTE, WARNING, reef
from workflow.derive.reefs.pair import Pair, cells, pairs


@reef("R35-thin-tail", WARNING)
def thin_tail(data: Evidence):
    """A 99th percentile of fewer than a hundred requests is the maximum under another name.

    Leave it out, or measure more requests.
    """
    bad = [row for row in data.points if has(row, "p99_e2e_ms", "completed") and row["completed"] < 100]
    for rows in by_file(bad):
        yield place(rows), f"p99 of {rows[0]['completed']:g} requests", len(rows)


COUNTED = {"output_throughput": ("total_output_tokens", "token/s"), "request_throughput": ("completed", "requests/s")}
"""Throughput -> the column that it counts, and its unit."""


@reef("R41-recomputed", BLOCKING, pair="plain")
def recomputed(data: Evidence):
    """A throughput is not its tokens, or its requests, over its duration.

    Read the file again; some column was scraped from another place.
    """
    for written, (counted, unit) in COUNTED.items():
        rate = partial(_rate, counted)
        known = [row for row in data.points if has(row, "duration_s", written, counted) and row["duration_s"]]
        for rows in by_file([row for row in known if abs(rate(row) - row[written]) > 0.005 * row[written]]):
            both = pairs(rows, written, rate, counted, "duration_s")
            yield place(rows), f"{both[0].said:.2f} {unit} written, {both[0].true:.2f} recomputed", len(rows), both


def _rate(counted: str, row: Row) -> float:
    """What a column counts, a second."""
    return row[counted] / row["duration_s"]


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
    """Time per token times tokens a round is not the time of a step: the clock of the requests and that of the steps contradict each other.

    Above the step, look for ramp-up or prefill between the steps; below it, for a queue that the steps were timed with.
    """
    alone = [row for row in data.speculative() if _alone(row) and has(row, "emitted_per_round")]
    off = [(time * row["emitted_per_round"] / _step(row), row) for row in alone if (time := _per_token(data, row)[0])]
    for rows in by_file([row for ratio, row in off if ratio > 1.1]):
        most = max(ratio for ratio, row in off if row["file"] == rows[0]["file"])
        yield place(rows), f"{len(rows)} cells above the step, up to {most:.2f} times it: ramp-up or prefill between the steps", len(rows)
    for rows in by_file([row for ratio, row in off if ratio < 0.9]):
        least = min(ratio for ratio, row in off if row["file"] == rows[0]["file"])
        yield place(rows), f"{len(rows)} cells below the step, down to {least:.2f} of it: a queue within the steps", len(rows)


def _alone(row: Row) -> bool:
    """Whether its requests ran one at a time, so that no other's prefill lay between their steps, and it says how long steps took."""
    return row["max_concurrency"] == 1 and has(row, "step_ms") and _step(row) > 0


def _step(row: Row) -> float:
    """Milliseconds from one step to the next, by the clock of the steps; of a server, whose gaps are not known, those of the step."""
    return row["step_ms"] + (row["between_ms"] or 0.0)


def _per_token(data: Evidence, row: Row) -> tuple[float | None, tuple[Cell, ...]]:
    """Milliseconds per token by the clock of the requests, and the cells they come from; None where a row says nothing of it.

    Pooled over the requests of the cell where these are kept, as steps and rounds are: a mean over requests of unlike lengths or acceptance is
    another number.
    """
    known = [one for one in data.requests_of(row) if has(one, "tpot_ms", "osl") and one["osl"] > 1]
    if not known:
        return row["mean_tpot_ms"], cells([row], "mean_tpot_ms")
    time = sum(one["tpot_ms"] * (one["osl"] - 1) for one in known) / sum(one["osl"] - 1 for one in known)
    return time, cells(known, "tpot_ms", "osl")


@reef("R46-two-rulers", BLOCKING, pair="ms")
def two_rulers(data: Evidence):
    """Plain decoding, one request at a time: the time of a step and the time per token are two readings of one thing and differ.

    Put numerator and denominator of a ratio on one clock.
    """
    alone = [row for row in data.points if row["lane"] == "plain" and _alone(row)]
    for rows in by_file([row for row in alone if (time := _per_token(data, row)[0]) and abs(time / _step(row) - 1) > 0.03]):
        known = [Pair(_step(row), time, (*cells([row], "step_ms", "between_ms"), *found)) for row in rows for time, found in [_per_token(data, row)]]
        yield place(rows), f"step {known[0].said:.3f} ms, TPOT {known[0].true:.3f} ms", len(rows), known


@reef("R42-rounded", WARNING)
def rounded(data: Evidence):
    """Throughputs of a file have three significant digits at most: rounding may carry them over a threshold.

    Compute them again from the tokens and the duration, or take the tool's own file in the place of its printout.
    """
    for rows in by_file([row for row in data.points if has(row, "output_throughput") and row["output_throughput"]]):
        if len(rows) > 2 and all(f"{row['output_throughput']:.3g}" == f"{row['output_throughput']:.12g}" for row in rows):
            yield place(rows), f"{len(rows)} throughputs of three digits at most", len(rows)
