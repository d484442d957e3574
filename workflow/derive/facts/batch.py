"""The batch sweep as lanes: what plain decoding and DSpark at several block sizes serve, over the same requests, at each number of them in flight.

What a step of it costs by the positions in it stands in facts/positions.py.
"""

from workflow.derive.facts import measures
from workflow.derive.registry import DECLARED, fact

SWEEP = "batch"
SIZES = tuple(f"g{gamma}" for gamma in DECLARED["gamma"])
ARMS = ("plain", *SIZES)


@fact("batch.c{level}.{arm}.output_throughput", kind="rate", unit="token/s", arm=ARMS)
def output_throughput(read, level, arm):
    """output tokens / duration, prefill included, sums over the boots"""
    return measures.output_throughput(read.points(SWEEP, arm=arm, max_concurrency=level))


@fact("batch.c{level}.{arm}.tpot_ms", kind="duration", unit="ms/token", arm=ARMS)
def tpot(read, level, arm):
    """mean over the requests of each one's time per token, mean over the boots"""
    return read.points(SWEEP, arm=arm, max_concurrency=level).mean("mean_tpot_ms")


@fact("batch.c{level}.{arm}.ratio", kind="ratio", arm=SIZES)
def ratio(read, level, arm):
    """speculative output tokens/s / plain output tokens/s with as many requests in flight"""
    return read[f"batch.c{level}.{arm}.output_throughput"] / read[f"batch.c{level}.plain.output_throughput"]


@fact("batch.distinct_4gram_share", kind="probability")
def distinct_4grams(read):
    """mean over the cells of distinct 4-grams / 4-grams of the speculative lane's output"""
    return read.points(SWEEP, lane="dspark").mean("distinct_4gram_share")
