"""Transcribed rows over the output length and over the concurrency, a row a configuration."""

from workflow.derive.facts.rows import levels, one, points
from workflow.derive.registry import fact
from workflow.derive.sample import Sample

PARTS = {
    "output_throughput": ("output_throughput", "rate", "token/s"),
    "ttft_ms": ("median_ttft_ms", "duration", "ms"),
    "accept_length": ("accept_length", "length", "token/round"),
}
"""Part of the key -> column, kind and unit."""
OUTPUT_ENDS = {"shortest": 0, "longest": -1}
LOAD_ENDS = {"least": 0, "most": -1}


def output_lengths(read) -> list[int]:
    return levels(points(read, "osl"), "osl")


def concurrencies(read) -> list[int]:
    return levels(points(read, "concurrency"), "max_concurrency")


def register(part: str) -> None:
    column, kind, unit = PARTS[part]

    @fact(f"rows.osl.o{{osl}}.{part}", kind=kind, unit=unit)
    def by_output(read, osl):
        """value at one output length, as published"""
        return one(read, "osl", osl=osl).sum(column)

    @fact(f"rows.concurrency.c{{concurrency}}.{part}", kind=kind, unit=unit)
    def by_concurrency(read, concurrency):
        """value at one concurrency, as published"""
        return one(read, "concurrency", max_concurrency=concurrency).sum(column)

    @fact(f"rows.osl.at_{{end}}.{part}", kind=kind, unit=unit, end=tuple(OUTPUT_ENDS))
    def at_output_end(read, end):
        """value at that output length"""
        return read[f"rows.osl.o{round(read[f'rows.osl.{end}'].value)}.{part}"]


for name in PARTS:
    register(name)


@fact("rows.osl.{end}", kind="count", unit="token", end=tuple(OUTPUT_ENDS))
def output_end(read, end):
    """end of the published output lengths"""
    return Sample(output_lengths(read)[OUTPUT_ENDS[end]], "token")


@fact("rows.concurrency.c{concurrency}.per_request", kind="rate", unit="token/s")
def per_request(read, concurrency):
    """output throughput / achieved concurrency"""
    return read[f"rows.concurrency.c{concurrency}.output_throughput"] / one(read, "concurrency", max_concurrency=concurrency).sum("concurrency")


@fact("rows.concurrency.{end}", kind="count", end=tuple(LOAD_ENDS))
def load_end(read, end):
    """end of the published concurrencies"""
    return concurrencies(read)[LOAD_ENDS[end]]


def register_end(part: str, kind: str, unit: str) -> None:
    @fact(f"rows.concurrency.at_{{end}}.{part}", kind=kind, unit=unit, end=tuple(LOAD_ENDS))
    def at_load_end(read, end):
        """value at that concurrency"""
        return read[f"rows.concurrency.c{round(read[f'rows.concurrency.{end}'].value)}.{part}"]


for name, (_, kind, unit) in (PARTS | {"per_request": ("", "rate", "token/s")}).items():
    register_end(name, kind, unit)
