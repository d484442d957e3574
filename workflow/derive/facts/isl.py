"""The input-length sweep: plain decoding and speculation, one request at a time."""

from workflow.derive.facts import measures
from workflow.derive.registry import fact
from workflow.derive.sample import Sample

SWEEP = "isl"
EVERY_LANE = ("ttft_ms", "tpot_ms", "step_ms", "verify_ms", "e2e_ms", "output_throughput")
SPECULATIVE = ("draft_ms", "commit_ms", "accept_length", "emitted_per_round", "speedup")


@fact("isl.i{isl}.{lane}.{clock}", kind="duration", unit="ms", clock=("ttft_ms", "e2e_ms"))
def client_time(read, isl, lane, clock):
    """mean over the requests, client's clock"""
    return read.requests(SWEEP, isl=isl, lane=lane).mean(clock)


@fact("isl.i{isl}.{lane}.tpot_ms", kind="duration", unit="ms/token")
def tpot(read, isl, lane):
    """(end - first token) / (tokens - 1), sums over the requests"""
    return measures.time_per_token(read.requests(SWEEP, isl=isl, lane=lane))


@fact("isl.i{isl}.{lane}.{block}", kind="duration", unit="ms/step", block=("step_ms", "verify_ms"))
def step_time(read, isl, lane, block):
    """mean over the decode steps, wall clock of the engine"""
    return measures.per_step(read.points(SWEEP, isl=isl, lane=lane), block)


@fact("isl.i{isl}.dspark.{block}", kind="duration", unit="ms/step", block=("draft_ms", "commit_ms"))
def spec_time(read, isl, block):
    """mean over the rounds, wall clock of the engine"""
    return measures.per_step(read.points(SWEEP, isl=isl, lane="dspark"), block)


@fact("isl.i{isl}.{lane}.output_throughput", kind="rate", unit="token/s")
def output_throughput(read, isl, lane):
    """output tokens / duration, prefill included, sums over the boots"""
    return measures.output_throughput(read.points(SWEEP, isl=isl, lane=lane))


@fact("isl.i{isl}.dspark.accept_length", kind="length", unit="token/round")
def accept_length(read, isl):
    """1 + accepted / rounds, bonus included, pooled over the requests"""
    return measures.accept_length(read.requests(SWEEP, isl=isl, lane="dspark"))


@fact("isl.i{isl}.dspark.emitted_per_round", kind="length", unit="token/round")
def emitted_per_round(read, isl):
    """tokens after each request's first / rounds, pooled over the requests"""
    return measures.emitted_per_round(read.requests(SWEEP, isl=isl, lane="dspark"))


@fact("isl.i{isl}.dspark.speedup", kind="ratio")
def speedup(read, isl):
    """plain time per token / speculative time per token, same prompts"""
    return read[f"isl.i{isl}.plain.tpot_ms"] / read[f"isl.i{isl}.dspark.tpot_ms"]


def accept_keys(read) -> list[str]:
    """Accept lengths of the input lengths that were measured, rising in length."""
    return read.present(f"isl.i{isl}.dspark.accept_length" for isl in read.derivation.domains["isl"])


def length_of(key: str) -> int:
    return int(key.split(".")[1].removeprefix("i"))


@fact("isl.shortest", kind="count", unit="token")
def shortest(read):
    """shortest input length measured"""
    return Sample(length_of(accept_keys(read)[0]), "token")


@fact("isl.longest", kind="count", unit="token")
def longest(read):
    """longest input length measured"""
    return Sample(length_of(accept_keys(read)[-1]), "token")


@fact("isl.lengths", kind="count")
def lengths(read):
    """number of input lengths measured"""
    return len(accept_keys(read))


@fact("isl.accept_span", kind="ratio")
def accept_span(read):
    """largest / smallest accept length over the input lengths"""
    keys = accept_keys(read)
    return read[max(keys, key=lambda key: read[key].value)] / read[min(keys, key=lambda key: read[key].value)]


@fact("isl.distinct_4gram_share", kind="probability")
def distinct_4grams(read):
    """mean over the cells of distinct 4-grams / 4-grams of the speculative lane's output"""
    return read.points(SWEEP, lane="dspark").mean("distinct_4gram_share")


def end(name: str):
    """Key prefix of the shortest or longest input length."""
    return lambda read, **fields: ".".join([f"isl.i{round(read[f'isl.{name}'].value)}", *fields.values()])


for name in ("shortest", "longest"):
    measures.alias(f"isl.at_{name}.{{lane}}", EVERY_LANE, end(name), f"the value at the {name} input length")
    measures.alias(f"isl.at_{name}.{{lane}}", SPECULATIVE, end(name), f"the value at the {name} input length", lane=("dspark",))
