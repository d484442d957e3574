"""Plain decoding and speculation at the same load, from one request at a time to the largest batch."""

import numpy as np

from workflow.derive.facts import measures
from workflow.derive.facts.compare import beyond_noise
from workflow.derive.facts.flags import engine_flags
from workflow.derive.facts.modes import ARMS as MODE_ARMS
from workflow.derive.facts.window import OTHER_LANES, block_of, lane_of
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample
from workflow.derive.shown import MODES

COLUMNS = {"tpot_ms": "mean_tpot_ms", "ttft_ms": "mean_ttft_ms", "achieved": "concurrency"}
AT_A_LEVEL = ("output_throughput", *COLUMNS)
FORMULAS = {
    "tpot_ms": "mean over the requests of each one's time per token, mean over the boots",
    "ttft_ms": "mean over the requests from queued to first token, mean over the boots",
    "achieved": "sum of the requests' times / duration, mean over the boots",
}


def register(measure: str) -> None:
    def function(read, concurrency, lane):
        return read.points("concurrency", lane=lane, max_concurrency=concurrency).mean(COLUMNS[measure])

    measures.register(f"lanes.c{{concurrency}}.{{lane}}.{measure}", measure, function, FORMULAS[measure])


for name in COLUMNS:
    register(name)


@fact("lanes.c{concurrency}.{lane}.output_throughput", kind="rate", unit="token/s")
def output_throughput(read, concurrency, lane):
    """output tokens / duration, prefill included, sums over the boots"""
    return measures.output_throughput(read.points("concurrency", lane=lane, max_concurrency=concurrency))


@fact("lanes.c{concurrency}.ratio", kind="ratio")
def ratio(read, concurrency):
    """speculative output tokens/s / plain output tokens/s at one concurrency"""
    return read[f"lanes.c{concurrency}.dspark.output_throughput"] / read[f"lanes.c{concurrency}.plain.output_throughput"]


def levels(read) -> list[int]:
    """Concurrencies at which both lanes were measured, rising."""
    keys = read.present(f"lanes.c{concurrency}.ratio" for concurrency in read.derivation.domains["concurrency"])
    return [int(key.split(".")[1].removeprefix("c")) for key in keys]


@fact("lanes.levels", kind="count")
def level_count(read):
    """number of concurrencies at which both lanes were measured"""
    return len(levels(read))


@fact("lanes.least", kind="count")
def least(read):
    """smallest concurrency at which both lanes were measured"""
    return levels(read)[0]


@fact("lanes.most", kind="count")
def most(read):
    """largest concurrency at which both lanes were measured"""
    return levels(read)[-1]


@fact("lanes.gamma", kind="count")
def gamma(read):
    """block size of the speculative lane in the concurrency sweep"""
    found = set(read.points("concurrency", lane="dspark").texts("block_size"))
    if len(found) > 1:
        raise Missing(f"the concurrency sweep has several block sizes: {', '.join(sorted(found))}")
    return int(found.pop())


@fact("lanes.crossover", kind="count")
def crossover(read):
    """largest concurrency at which speculation serves more than plain decoding by more than the noise"""
    won = [level for level in levels(read) if beyond_noise(read, read[f"lanes.c{level}.ratio"]) > 0]
    if not won:
        raise Missing("speculation serves more at none of the measured concurrencies, beyond the noise")
    return won[-1]


@fact("lanes.crossing", kind="length")
def crossing(read):
    """concurrency at which speculative / plain output tokens/s passes from above one to below it: on a straight line in both logarithms between the
    measured concurrencies, and the last such place"""
    found = levels(read)
    at, ahead = np.log(found), np.array([read[f"lanes.c{level}.ratio"].log().values for level in found])  # [levels], [levels, resamples]
    down = (ahead[:-1] > 0) & (ahead[1:] <= 0)
    if not down[:, 0].any():
        raise Missing("speculation does not go from ahead of plain decoding to behind it between the measured concurrencies")
    last, every = len(down) - 1 - np.argmax(down[::-1], axis=0), np.arange(ahead.shape[1])
    before, after = ahead[last, every], ahead[last + 1, every]
    crossed = at[last] + (at[last + 1] - at[last]) * before / (before - after)
    # a resample that does not pass through one has no such place, and then there is no interval
    return Sample(np.exp(np.where(down.any(axis=0), crossed, np.nan)))


@fact("lanes.first_loss", kind="count")
def first_loss(read):
    """smallest concurrency at which plain decoding serves more than speculation by more than the noise"""
    lost = [level for level in levels(read) if beyond_noise(read, read[f"lanes.c{level}.ratio"]) < 0]
    if not lost:
        raise Missing("plain decoding serves more at none of the measured concurrencies, beyond the noise")
    return lost[0]


AT = {"one": "least", "most": "most"}


def place(name: str):
    """The key prefix of a named level."""
    return lambda read, **fields: "".join([f"lanes.c{round(read[f'lanes.{AT[name]}'].value)}", *(f".{value}" for value in fields.values())])


for name, words in {"one": "smallest", "most": "largest"}.items():
    measures.alias(f"lanes.at_{name}.{{lane}}", AT_A_LEVEL, place(name), f"the value at the {words} concurrency")


@fact("lanes.at_{level}.ratio", kind="ratio", level=tuple(AT))
def ratio_at(read, level):
    """speculative output tokens/s / plain output tokens/s at that concurrency"""
    return read[f"{place(level)(read)}.ratio"]


MODE_RATES = [f"modes.{mode}.{arm}.tokens_per_s" for mode in MODES for arm in ("plain", *MODE_ARMS)]


def every_arm(read) -> list[str]:
    """Keys of the rate of every arm at one request at a time, on one text.

    Where modes were compared: each lane that ran in any of them, on the text of that comparison. Else the block-size sweep, all contents.
    """
    if not any(map(read.has, MODE_RATES)):
        return [f"window.all.{arm}.tokens_per_s" for arm in ("plain", *DECLARED["arm"])]
    text = read.label("modes.content")
    return MODE_RATES + [f"window.{text}.{arm}.tokens_per_s" for arm in OTHER_LANES if text in DECLARED["one_content"]]


def arm_of(key: str) -> str:
    return key.split(".")[2]


def best_key(read) -> str:
    return read.largest(every_arm(read))


@fact("lanes.best_at_one.lane", kind="label")
def best_at_one(read):
    """lane of the arm with the largest tokens/s at one request at a time, over every mode that was compared"""
    return lane_of(arm_of(best_key(read)))


@fact("lanes.best_at_one.mode", kind="label")
def best_at_one_mode(read):
    """execution mode of that arm"""
    family, mode, arm, _ = best_key(read).split(".")
    return mode if family == "modes" else read.points("window", arm=arm).texts("mode")[0]


@fact("lanes.best_at_one.content", kind="label")
def best_at_one_content(read):
    """content that all these arms wrote; mixed where there are several"""
    best_key(read)
    return read.label("modes.content") if any(map(read.has, MODE_RATES)) else "mixed"


@fact("lanes.best_at_one.gamma", kind="count")
def best_at_one_gamma(read):
    """block size of the fastest arm at one request at a time"""
    arm = arm_of(best_key(read))
    if arm == "plain":
        raise Missing("the fastest arm at one request at a time is plain decoding, which drafts nothing")
    return block_of(read, arm)


@fact("lanes.best_at_one.flags", kind="label")
def best_at_one_flags(read):
    """flags of `engine.generate` that choose that arm"""
    lane = read.label("lanes.best_at_one.lane")
    size = round(read["lanes.best_at_one.gamma"].value) if lane != "plain" else ""
    return engine_flags(read.label("lanes.best_at_one.mode"), lane, size)


@fact("lanes.best_at_one.plain_flags", kind="label")
def best_plain_flags(read):
    """flags of `engine.generate` for plain decoding in the mode where it is fastest"""
    return engine_flags(read.label("lanes.best_at_one.plain_mode"), "plain")


@fact("lanes.best_at_one.tokens_per_s", kind="rate", unit="token/s")
def best_at_one_rate(read):
    """tokens/s of that arm, prefill left out"""
    return read[best_key(read)]


@fact("lanes.best_at_one.plain_tpot_ms", kind="duration", unit="ms/token")
def best_plain(read):
    """time per token of plain decoding in the mode where it is fastest, on the same text"""
    key = read.largest(key for key in every_arm(read) if arm_of(key) == "plain")
    return read[key.removesuffix("tokens_per_s") + "tpot_ms"]


@fact("lanes.best_at_one.plain_mode", kind="label")
def best_plain_mode(read):
    """execution mode in which plain decoding is fastest, on the same text"""
    family, mode, arm, _ = read.largest(key for key in every_arm(read) if arm_of(key) == "plain").split(".")
    return mode if family == "modes" else read.points("window", arm=arm).texts("mode")[0]


@fact("lanes.c{concurrency}.{lane}.tokens_per_s", kind="rate", unit="token/s")
def decode_rate(read, concurrency, lane):
    """tokens after the first / wall time of the decode steps, prefill left out, mean over the boots"""
    return read.points("concurrency", lane=lane, max_concurrency=concurrency).mean("decode_throughput")


@fact("lanes.mtp_ratio.{content}", kind="ratio")
def mtp_ratio(read, content):
    """plain time per token / MTP time per token, one request at a time"""
    return read[f"window.{content}.mtp.speedup"]


@fact("lanes.distinct_4gram_share", kind="probability")
def distinct_4grams(read):
    """mean over the cells of distinct 4-grams / 4-grams of the speculative lane's output"""
    return read.points("concurrency", lane="dspark").mean("distinct_4gram_share")
