"""Arrivals on a timetable: how long a first token takes when requests come at a rate, and not as soon as there is room."""

from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

SWEEP = "rate"
STATISTICS = ("median", "p99")
ENDS = ("lowest", "highest")


def points(read, lane: str, arrival: int):
    return read.points(SWEEP, lane=lane, request_rate=arrival)


@fact("rate.{lane}.r{arrival}.{statistic}_ttft_ms", kind="duration", unit="ms", statistic=STATISTICS)
def ttft(read, lane, arrival, statistic):
    """from the time a request was due to its first token, over the requests of a cell, mean over the boots"""
    return points(read, lane, arrival).mean(f"{statistic}_scheduled_ttft_ms")


@fact("rate.{lane}.r{arrival}.client_queue_ms", kind="duration", unit="ms")
def client_queue(read, lane, arrival):
    """from the time a request was due to the time it was sent, mean over the requests and the boots"""
    return points(read, lane, arrival).mean("mean_client_queue_ms")


@fact("rate.{lane}.r{arrival}.served", kind="rate", unit="1/s")
def served(read, lane, arrival):
    """requests completed / duration, mean over the boots"""
    return points(read, lane, arrival).mean("request_throughput")


def arrivals(read) -> list[int]:
    """Rates at which both lanes were measured, rising."""
    keys = {arrival: [f"rate.{lane}.r{arrival}.median_ttft_ms" for lane in DECLARED["lane"]] for arrival in read.derivation.domains["arrival"]}
    found = [arrival for arrival, names in keys.items() if all(read.has(name) for name in names)]
    if not found:
        raise Missing("no arrivals on a timetable were measured in this campaign")
    read.present(name for arrival in found for name in keys[arrival])  # what the list rests on
    return found


@fact("rate.arrivals", kind="count")
def count(read):
    """number of arrival rates at which both lanes were measured"""
    return len(arrivals(read))


@fact("rate.{end}", kind="count", end=ENDS)
def end_of(read, end):
    """requests a second at that end of the arrival rates at which both lanes were measured"""
    return arrivals(read)[0 if end == "lowest" else -1]


@fact("rate.{lane}.at_{end}.{statistic}_ttft_ms", kind="duration", unit="ms", end=ENDS, statistic=STATISTICS)
def ttft_at(read, lane, end, statistic):
    """the value at that end of the arrival rates"""
    return read[f"rate.{lane}.r{round(read[f'rate.{end}'].value)}.{statistic}_ttft_ms"]


@fact("rate.{lane}.tail_growth", kind="ratio")
def tail_growth(read, lane):
    """p99 of the time to the first token at the highest arrival rate / at the lowest"""
    if read["rate.arrivals"].value < 2:
        raise Missing("one arrival rate only")
    return read[f"rate.{lane}.at_highest.p99_ttft_ms"] / read[f"rate.{lane}.at_lowest.p99_ttft_ms"]


@fact("rate.latest_ms", kind="duration", unit="ms")
def latest(read):
    """latest that any request was sent after it was due, over lanes, finite rates and boots"""
    lags = [points(read, lane, arrival).read("client_lag_ms").max() for lane in DECLARED["lane"] for arrival in arrivals(read)]
    return Sample(max(lags), "ms")
