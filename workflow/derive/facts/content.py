"""The content sweep: acceptance in free-running decoding, and after true histories that go on where its prompts end.

Rows of before workloads had `room` have histories of the same kinds of text at places of their own.
A model that writes its own text may fall into loops, which are easy to guess; one round after each true history cannot.
"""

from workflow.derive.facts import measures
from workflow.derive.registry import fact

SWEEP = "content"
RANDOM = "random-ids"
FORCED = ("code", "en", "zh")
"""Contents with documents long enough to have histories."""


@fact("content.{one_content}.free.accept_length", kind="length", unit="token/round")
def free(read, one_content):
    """1 + accepted / rounds of free-running decoding, bonus included, pooled over the requests"""
    return measures.accept_length(read.requests(SWEEP, lane="dspark", content=one_content))


@fact("content.{one_content}.free.distinct_4gram_share", kind="probability")
def distinct_4grams(read, one_content):
    """mean over the cells of distinct 4-grams / 4-grams of the speculative lane's output"""
    return read.points(SWEEP, lane="dspark", content=one_content).mean("distinct_4gram_share")


@fact("content.{one_content}.{lane}.tpot_ms", kind="duration", unit="ms/token")
def tpot(read, one_content, lane):
    """time per token of free-running decoding, sums over the requests"""
    return measures.time_per_token(read.requests(SWEEP, lane=lane, content=one_content))


@fact("content.{one_content}.speedup", kind="ratio")
def speedup(read, one_content):
    """plain time per token / speculative time per token, same prompts"""
    return read[f"content.{one_content}.plain.tpot_ms"] / read[f"content.{one_content}.dspark.tpot_ms"]


@fact("content.{one_content}.forced.accept_length", kind="length", unit="token/round", one_content=FORCED)
def forced(read, one_content):
    """1 + accepted / rounds, one round after each true history, pooled over the histories"""
    return measures.accept_length(read.requests(SWEEP, stage="teacher_forced", lane="dspark", content=one_content))


@fact("content.random.free.accept_length", kind="length", unit="token/round")
def random(read):
    """accept length of free-running decoding after prompts of random token ids"""
    return measures.accept_length(read.requests(SWEEP, lane="dspark", content=RANDOM))


@fact("content.random.free.distinct_4gram_share", kind="probability")
def random_4grams(read):
    """distinct 4-gram share of the output after prompts of random token ids"""
    return read.points(SWEEP, lane="dspark", content=RANDOM).mean("distinct_4gram_share")


@fact("content.{lane}.random_tpot_ms", kind="duration", unit="ms/token")
def random_tpot(read, lane):
    """time per token after prompts of random token ids, sums over the requests"""
    return measures.time_per_token(read.requests(SWEEP, lane=lane, content=RANDOM))


@fact("content.random.speedup", kind="ratio")
def random_speedup(read):
    """plain time per token / speculative time per token after prompts of random token ids"""
    return read["content.plain.random_tpot_ms"] / read["content.dspark.random_tpot_ms"]


@fact("content.texts.free", kind="length", unit="token/round")
def texts_free(read):
    """accept length of free-running decoding, pooled over the contents that have histories"""
    return measures.accept_length(read.requests(SWEEP, lane="dspark", content=FORCED))


@fact("content.texts.forced", kind="length", unit="token/round")
def texts_forced(read):
    """accept length one round after each true history, pooled over the contents that have them"""
    return measures.accept_length(read.requests(SWEEP, stage="teacher_forced", lane="dspark", content=FORCED))


@fact("content.histories", kind="count")
def histories(read):
    """true histories of one content and repeat, one round after each"""
    return max(map(int, read.points(SWEEP, stage="teacher_forced").texts("num_prompts")))
