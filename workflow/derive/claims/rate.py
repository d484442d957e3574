"""Arrivals on a timetable."""

from workflow.derive.claims.kinds import above
from workflow.derive.registry import DECLARED, claim


@claim("rate.tail", kind="direction", says=("rise",))
def tail(read):
    """The p99 of the time to the first token, counted from when a request was due, is longer at the highest arrival rate, in both lanes."""
    names = ("at_lowest.median_ttft_ms", "at_highest.median_ttft_ms", "at_lowest.p99_ttft_ms", "at_highest.p99_ttft_ms", "tail_growth")
    read.cite("rate.lowest", "rate.highest", "rate.latest_ms", *(f"rate.{lane}.{name}" for lane in DECLARED["lane"] for name in names))
    return min((above(read[f"rate.{lane}.tail_growth"]) for lane in DECLARED["lane"]), key=lambda margin: margin.value)
