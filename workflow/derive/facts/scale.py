"""Where to stop: throughput, latency and the cost of a step as concurrency grows."""

import numpy as np

from workflow.derive.facts import measures
from workflow.derive.facts.compare import tied
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.stats import BOOTS_SHOWN

PER_LEVEL = ("output_throughput", "per_request_tokens_per_s", "ttft_ms", "tpot_ms", "achieved", "step_ms", "tokens_per_step", "e2e_ms")
FROM_LANES = ("output_throughput", "ttft_ms", "tpot_ms", "achieved")


def points(read, lane: str, concurrency: int):
    return read.points("concurrency", lane=lane, max_concurrency=concurrency)


measures.alias(
    "scale.{lane}.c{concurrency}",
    FROM_LANES,
    lambda read, lane, concurrency: f"lanes.c{concurrency}.{lane}",
    "the lane's value at one concurrency",
)


@fact("scale.{lane}.c{concurrency}.per_request_tokens_per_s", kind="rate", unit="token/s")
def per_request(read, lane, concurrency):
    """output tokens/s / achieved concurrency"""
    return read[f"lanes.c{concurrency}.{lane}.output_throughput"] / read[f"lanes.c{concurrency}.{lane}.achieved"]


@fact("scale.{lane}.c{concurrency}.e2e_ms", kind="duration", unit="ms")
def e2e(read, lane, concurrency):
    """mean over the requests from queued to end, mean over the boots"""
    return points(read, lane, concurrency).mean("mean_e2e_ms")


@fact("scale.{lane}.c{concurrency}.step_ms", kind="duration", unit="ms/step")
def step(read, lane, concurrency):
    """mean over the decode steps, wall clock of the engine"""
    return measures.per_step(points(read, lane, concurrency), "step_ms")


@fact("scale.{lane}.c{concurrency}.tokens_per_step", kind="length", unit="token/step")
def tokens_per_step(read, lane, concurrency):
    """tokens after each request's first / decode steps"""
    rows = points(read, lane, concurrency)
    return rows.sum("decode_tokens") / rows.sum("steps")


@fact("scale.dspark.c{concurrency}.accept_length", kind="length", unit="token/round")
def accept_length(read, concurrency):
    """accept length of the speculative lane at one concurrency"""
    return read[f"accept.by_concurrency.c{concurrency}.dspark.accept_length"]


@fact("scale.{lane}.c{concurrency}.power", kind="rate", unit="token/s**2")
def power(read, lane, concurrency):
    """output tokens/s / mean end-to-end time: what the knee maximises"""
    return read[f"lanes.c{concurrency}.{lane}.output_throughput"] / read[f"scale.{lane}.c{concurrency}.e2e_ms"]


def keys(read, lane: str, what: str) -> list[str]:
    return [f"scale.{lane}.c{concurrency}.{what}" for concurrency in read.derivation.domains["concurrency"]]


def level_of(key: str) -> int:
    return int(key.split(".")[2].removeprefix("c"))


@fact("scale.{lane}.knee", kind="count")
def knee(read, lane):
    """concurrency with the largest throughput / mean end-to-end time"""
    return level_of(read.largest(keys(read, lane, "power")))


@fact("scale.{lane}.knee_tied", kind="label")
def knee_tied(read, lane):
    """concurrencies that the noise does not tell from the knee"""
    return ", ".join(str(level_of(key)) for key in tied(read, keys(read, lane, "power")))


@fact("scale.{lane}.max_throughput", kind="rate", unit="token/s")
def max_throughput(read, lane):
    """largest output tokens/s over the concurrencies"""
    return read[read.largest(keys(read, lane, "output_throughput"))]


@fact("scale.{lane}.max_at", kind="count")
def max_at(read, lane):
    """concurrency with the largest output tokens/s"""
    return level_of(read.largest(keys(read, lane, "output_throughput")))


@fact("scale.{lane}.gain", kind="ratio")
def gain(read, lane):
    """largest output tokens/s / output tokens/s at the smallest concurrency"""
    return read[f"scale.{lane}.max_throughput"] / read[f"scale.{lane}.at_one.output_throughput"]


@fact("scale.gain", kind="ratio")
def best_gain(read):
    """largest output tokens/s of any lane / largest output tokens/s of any lane at the smallest concurrency"""
    top = read.largest(f"scale.{lane}.max_throughput" for lane in DECLARED["lane"])
    start = read.largest(f"scale.{lane}.at_one.output_throughput" for lane in DECLARED["lane"])
    return read[top] / read[start]


def at(name: str):
    def prefix(read, lane):
        level = round(read[f"scale.{lane}.knee" if name == "knee" else f"lanes.{'least' if name == 'one' else 'most'}"].value)
        return f"scale.{lane}.c{level}"

    return prefix


for name, words in {"one": "the smallest concurrency", "knee": "the knee", "most": "the largest concurrency"}.items():
    measures.alias(f"scale.{{lane}}.at_{name}", PER_LEVEL, at(name), f"the value at {words}")
    measures.alias(f"scale.{{lane}}.at_{name}", ("accept_length",), at(name), f"the value at {words}", lane=("dspark",))


@fact("scale.{lane}.tokens_per_step_gain", kind="ratio")
def tokens_gain(read, lane):
    """tokens a step at the largest concurrency / at the smallest"""
    return read[f"scale.{lane}.at_most.tokens_per_step"] / read[f"scale.{lane}.at_one.tokens_per_step"]


@fact("scale.{lane}.step_gain", kind="ratio")
def step_gain(read, lane):
    """step time at the largest concurrency / at the smallest"""
    return read[f"scale.{lane}.at_most.step_ms"] / read[f"scale.{lane}.at_one.step_ms"]


def decode_steps(read, lane: str, concurrency: int):
    return read.steps("concurrency", lane=lane, max_concurrency=concurrency, kind=("decode", "round"))


@fact("scale.{lane}.c{concurrency}.running", kind="length", unit="round/step")
def running(read, lane, concurrency):
    """mean over the decode steps of the requests in the batch"""
    rows = decode_steps(read, lane, concurrency)
    return rows.sum("running") / rows.count("step")


@fact("scale.{lane}.c{concurrency}.committed_per_row", kind="length", unit="token/round")
def committed(read, lane, concurrency):
    """committed tokens / requests in the batch, summed over the decode steps"""
    rows = decode_steps(read, lane, concurrency)
    return rows.sum("committed") / rows.sum("running")


@fact("scale.{lane}.c{concurrency}.step_share", kind="probability")
def step_share(read, lane, concurrency):
    """wall time in decode steps / duration"""
    return decode_steps(read, lane, concurrency).sum("step_ms") / points(read, lane, concurrency).sum("duration_s")


@fact("scale.{lane}.at_{end}.step_share", kind="probability", end=("one", "most"))
def step_share_at(read, lane, end):
    """wall time in decode steps / duration, at the smallest (one) or the largest (most) concurrency"""
    return read[f"{at(end)(read, lane)}.step_share"]


@fact("scale.{lane}.c{concurrency}.output_per_committed", kind="ratio")
def output_per_committed(read, lane, concurrency):
    """output tokens / committed tokens: first tokens in, cut rounds out"""
    return points(read, lane, concurrency).sum("total_output_tokens") / decode_steps(read, lane, concurrency).sum("committed")


@fact("scale.{lane}.c{concurrency}.identity_throughput", kind="rate", unit="token/s", status="computed")
def identity(read, lane, concurrency):
    """mean running x committed a row / mean step x share of wall in steps x output / committed: an identity, not a prediction"""
    rows, prefix = decode_steps(read, lane, concurrency), f"scale.{lane}.c{concurrency}"
    step_time = rows.sum("step_ms") / rows.count("step")
    return (
        read[f"{prefix}.running"]
        * read[f"{prefix}.committed_per_row"]
        / step_time
        * read[f"{prefix}.step_share"]
        * read[f"{prefix}.output_per_committed"]
    )


@fact("scale.identity_gap", kind="percent", unit="percent", status="computed")
def identity_gap(read):
    """largest |identity / the client's own output tokens/s - 1| over lanes, concurrencies and boots"""
    gaps = []
    for lane in DECLARED["lane"]:
        for key in keys(read, lane, "identity_throughput"):
            if read.has(key):
                client = points(read, lane, level_of(key)).mean("output_throughput")
                by_boot = abs(read[key] / client - 1).number()[1 : 1 + BOOTS_SHOWN]
                gaps.append(np.nanmax(by_boot))
    if not gaps:
        raise Missing("no step rows of the concurrency sweep to recompute the throughput from")
    return float(max(gaps))


@fact("scale.worst_achieved", kind="percent", unit="percent")
def worst_achieved(read):
    """smallest achieved / asked concurrency over lanes and concurrencies"""
    found = [key for lane in DECLARED["lane"] for key in keys(read, lane, "achieved") if read.has(key)]
    if not found:
        raise Missing("the concurrency sweep is not part of this campaign")
    shares = {key: read[key] / level_of(key) for key in found}
    return shares[min(shares, key=lambda key: shares[key].value)]
