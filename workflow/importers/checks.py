"""Checksums that a result carries in itself: arithmetic that holds whatever was measured. One that fails tells that some number is not what its name says."""

from __future__ import annotations

from workflow.importers.report import Report
from workflow.importers.result import Result

LITTLE = 0.02
RATES = 0.005
COUNTERS = 1e-3
"""How far two sides may be apart: latencies and rates by a share, accept lengths by their rounding in percent and four digits."""


def check(result: Result, place: str, report: Report) -> None:
    """Run every check whose numbers the file gives; a number that was computed here is given to none."""

    def has(*names: str) -> bool:
        return all(result.columns.get(name) not in (None, "") and name not in result.computed for name in names)

    get = result.columns
    if has("request_throughput", "mean_e2e_ms", "concurrency") and get["concurrency"]:
        product = get["request_throughput"] * get["mean_e2e_ms"] / 1000
        compare(report, "Little's law", place, "requests/s x latency", product, "concurrency", get["concurrency"], LITTLE)
    if get.get("duration_s"):
        for rate, count in (("output_throughput", "total_output_tokens"), ("request_throughput", "completed")):
            if has("duration_s", rate, count) and get[rate]:
                compare(report, f"{count} over duration", place, f"{count}/duration", get[count] / get["duration_s"], rate, get[rate], RATES)
        if has("duration_s", "total_throughput", "total_input_tokens", "total_output_tokens") and get["total_throughput"]:
            whole = (get["total_input_tokens"] + get["total_output_tokens"]) / get["duration_s"]
            compare(report, "all tokens over duration", place, "tokens/duration", whole, "total_throughput", get["total_throughput"], RATES)
    length = get.get("accept_length")
    if length is not None and result.per_position:
        compare(report, "1 + sum of positions", place, "1 + sum of positions", 1 + sum(result.per_position), "accept_length", length, COUNTERS)
        falling = all(a >= b - 1e-9 for a, b in zip(result.per_position, result.per_position[1:]))
        report.check("positions do not rise", place, falling, f"shares {', '.join(f'{share:g}' for share in result.per_position[:8])}")
    if length is not None and has("rounds", "accepted") and get["rounds"]:
        compare(report, "1 + accepted over rounds", place, "1 + accepted/rounds", 1 + get["accepted"] / get["rounds"], "accept_length", length, COUNTERS)
    if result.accept_rate is not None and has("drafted", "accepted") and get["drafted"]:
        compare(report, "accepted over drafted", place, "accepted/drafted", get["accepted"] / get["drafted"], "rate", result.accept_rate, COUNTERS)


def compare(report: Report, name: str, place: str, left: str, a: float, right: str, b: float, allowed: float) -> None:
    holds = abs(a - b) <= allowed * max(abs(a), abs(b))
    report.check(name, place, holds, f"{left} {a:.6g}, {right} {b:.6g}")
