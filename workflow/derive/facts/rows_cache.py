"""The prefix cache in transcribed rows: off, on with the server's default strategy, and on with the strategy `extra_buffer_lazy`."""

from workflow.derive.facts.rows import levels, one, points
from workflow.derive.registry import fact
from workflow.derive.rows import Rows

SIDES = {
    "off": {"radix_cache": "off"},
    "on": {"radix_cache": "on", "radix_strategy": None},
    "lazy": {"radix_cache": "on", "radix_strategy": "extra_buffer_lazy"},
}
TRAFFIC = {"random": {"stage": "search", "dataset": "random"}, "shared": {"stage": "cache", "dataset": "shared_prefix"}}


def level(read, traffic: str) -> int:
    """The largest concurrency at which the cache was on."""
    return levels(points(read, "search", lane="plain", radix_cache="on", **TRAFFIC[traffic]), "max_concurrency")[-1]


def cells(read, traffic: str, side: str) -> Rows:
    """Rows of plain decoding under one traffic and one setting of the cache, repeats among them."""
    return points(read, "search", lane="plain", max_concurrency=level(read, traffic), **TRAFFIC[traffic], **SIDES[side])


@fact("rows.cache.{traffic}.{side}.output_throughput", kind="rate", unit="token/s", traffic=tuple(TRAFFIC), side=tuple(SIDES))
def output_throughput(read, traffic, side):
    """output throughput, mean over the published rows of the setting"""
    return cells(read, traffic, side).mean("output_throughput")


@fact("rows.cache.{traffic}.{side}.ttft_s", kind="duration", unit="s", traffic=tuple(TRAFFIC), side=tuple(SIDES))
def ttft(read, traffic, side):
    """median time to the first token, mean over the published rows of the setting"""
    return cells(read, traffic, side).mean("median_ttft_ms")


@fact("rows.cache.{traffic}.{side}.ratio", kind="ratio", traffic=tuple(TRAFFIC), side=("on", "lazy"))
def ratio(read, traffic, side):
    """output throughput with the cache / without it"""
    return read[f"rows.cache.{traffic}.{side}.output_throughput"] / read[f"rows.cache.{traffic}.off.output_throughput"]


@fact("rows.cache.{side}.running", kind="count", side=tuple(SIDES))
def running(read, side):
    """requests that the boot of the setting admits at once"""
    return round(one(read, "search", stage="boot", lane="plain", **SIDES[side]).read("effective_max_running_requests")[0])
