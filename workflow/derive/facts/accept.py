"""What moves the accept length: content, concurrency, input length."""

import math

from workflow.derive.facts import measures
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample
from workflow.derive.stats import interval


@fact("accept.by_content.{content}", kind="length", unit="token/round")
def by_content(read, content):
    """accept length at the block size of the concurrency sweep, one request at a time"""
    return read[f"window.{content}.g{round(read['lanes.gamma'].value)}.accept_length"]


@fact("accept.by_concurrency.c{concurrency}.dspark.accept_length", kind="length", unit="token/round")
def by_concurrency(read, concurrency):
    """1 + accepted / rounds, bonus included, pooled over the requests, the same ones at every concurrency"""
    return measures.accept_length(read.requests("concurrency", lane="dspark", max_concurrency=concurrency))


def keys(read) -> list[str]:
    return read.present(f"accept.by_concurrency.c{n}.dspark.accept_length" for n in read.derivation.domains["concurrency"])


@fact("accept.by_concurrency.min", kind="length", unit="token/round")
def lowest(read):
    """smallest accept length over the concurrencies"""
    return read[min(keys(read), key=lambda key: read[key].value)]


@fact("accept.by_concurrency.max", kind="length", unit="token/round")
def highest(read):
    """largest accept length over the concurrencies"""
    return read[read.largest(keys(read))]


@fact("accept.by_concurrency.span", kind="percent", unit="percent")
def span(read):
    """largest / smallest accept length over the concurrencies - 1"""
    return read["accept.by_concurrency.max"] / read["accept.by_concurrency.min"] - 1


@fact("accept.by_concurrency.distinct_4gram_share", kind="probability")
def distinct_4grams(read):
    """mean over the cells of distinct 4-grams / 4-grams of the speculative lane's output"""
    return read["lanes.distinct_4gram_share"]


@fact("accept.at_{end}", kind="length", unit="token/round", end=("shortest", "longest"))
def at_end(read, end):
    """accept length at that input length"""
    return read[f"isl.at_{end}.dspark.accept_length"]


@fact("accept.detectable", kind="percent", unit="percent")
def detectable(read):
    """half the interval of accept length at the longest / at the shortest input: a smaller change would not show"""
    if read["isl.longest"].value == read["isl.shortest"].value:
        raise Missing("one input length only")
    ratio = (read["accept.at_longest"] / read["accept.at_shortest"]).log()
    drawn = interval(ratio.values, read.derivation.level)
    return Sample(math.expm1((drawn[1] - drawn[0]) / 2) if drawn else math.nan)
