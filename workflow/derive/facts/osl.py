"""The output-length sweep: plain decoding and speculation, one request at a time, end of text ignored."""

from workflow.derive.facts import measures
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing

SWEEP = "osl"


@fact("osl.o{osl}.{lane}.ttft_ms", kind="duration", unit="ms")
def ttft(read, osl, lane):
    """mean over the requests, client's clock"""
    return read.requests(SWEEP, asked_osl=osl, lane=lane).mean("ttft_ms")


@fact("osl.o{osl}.{lane}.tpot_ms", kind="duration", unit="ms/token")
def tpot(read, osl, lane):
    """(end - first token) / (tokens - 1), sums over the requests"""
    return measures.time_per_token(read.requests(SWEEP, asked_osl=osl, lane=lane))


@fact("osl.o{osl}.{lane}.output_throughput", kind="rate", unit="token/s")
def output_throughput(read, osl, lane):
    """output tokens / duration, prefill included, sums over the boots"""
    return measures.output_throughput(read.points(SWEEP, osl=osl, lane=lane))


@fact("osl.o{osl}.{lane}.distinct_4gram_share", kind="probability")
def distinct_4grams(read, osl, lane):
    """mean over the cells of distinct 4-grams / 4-grams of the output"""
    return read.points(SWEEP, osl=osl, lane=lane).mean("distinct_4gram_share")


@fact("osl.o{osl}.dspark.accept_length", kind="length", unit="token/round")
def accept_length(read, osl):
    """1 + accepted / rounds, bonus included, pooled over the requests"""
    return measures.accept_length(read.requests(SWEEP, asked_osl=osl, lane="dspark"))


@fact("osl.o{osl}.dspark.speedup", kind="ratio")
def speedup(read, osl):
    """plain time per token / speculative time per token, same prompts"""
    return read[f"osl.o{osl}.plain.tpot_ms"] / read[f"osl.o{osl}.dspark.tpot_ms"]


def keys(read, lane: str, measure: str) -> list[str]:
    """Facts of one lane over the output lengths that were measured, rising in length."""
    found = [f"osl.o{osl}.{lane}.{measure}" for osl in read.derivation.domains["osl"]]
    if not found:
        raise Missing("the output-length sweep is not part of this campaign")
    return read.present(found)


def length_of(key: str) -> int:
    return int(key.split(".")[1].removeprefix("o"))


@fact("osl.shortest", kind="count")
def shortest(read):
    """shortest output length measured"""
    return length_of(keys(read, "dspark", "accept_length")[0])


@fact("osl.longest", kind="count")
def longest(read):
    """longest output length measured"""
    return length_of(keys(read, "dspark", "accept_length")[-1])


@fact("osl.lengths", kind="count")
def lengths(read):
    """number of output lengths measured"""
    return len(keys(read, "dspark", "accept_length"))


@fact("osl.isl", kind="count")
def input_length(read):
    """input length of the sweep"""
    found = {int(text) for text in read.points(SWEEP).texts("isl")}
    if len(found) > 1:
        raise Missing(f"{len(found)} input lengths in one sweep over the output length")
    return found.pop()


@fact("osl.flat_until", kind="count")
def flat_until(read):
    """longest output length up to which plain decoding's time per token stays within the bound of that at the shortest"""
    bound, found = read["threshold.osl.tpot_flat"].to("").value, keys(read, "plain", "tpot_ms")
    first, last = read[found[0]].value, found[0]
    for key in found[1:]:
        if max(read[key].value / first, first / read[key].value) - 1 > bound:
            break
        last = key
    return length_of(last)


def end(name: str):
    """Key prefix of the shortest or longest output length."""
    return lambda read, **fields: ".".join([f"osl.o{round(read[f'osl.{name}'].value)}", *fields.values()])


for name in ("shortest", "longest"):
    measures.alias(
        f"osl.at_{name}.{{lane}}", ("ttft_ms", "tpot_ms", "output_throughput"), end(name), f"the value at the {name} output length", lane=DECLARED["lane"]
    )
    measures.alias(f"osl.at_{name}.{{lane}}", ("accept_length", "speedup"), end(name), f"the value at the {name} output length", lane=("dspark",))


@fact("osl.at_{end}.{lane}.distinct_4gram_share", kind="probability", end=("shortest", "longest"))
def distinct_at(read, end, lane):
    """distinct 4-gram share at that output length"""
    return read[f"osl.o{round(read[f'osl.{end}'].value)}.{lane}.distinct_4gram_share"]
