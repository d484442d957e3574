"""The block-size sweep: one request at a time, by content and by arm (plain, DSpark at each γ, MTP)."""

import math

from workflow.derive.facts import measures
from workflow.derive.facts.compare import noise_of, tied
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

ONE_CONTENT = DECLARED["one_content"]
SPECULATIVE = (
    "accept_length",
    "emitted_per_round",
    "accept_rate",
    "step_ms",
    "draft_ms",
    "verify_ms",
    "commit_ms",
    "tpot_ms",
    "tokens_per_s",
    "speedup",
)


def arms(content: str, what: str) -> list[str]:
    """Keys of one measure at every block size."""
    return [f"window.{content}.g{gamma}.{what}" for gamma in DECLARED["gamma"]]


OTHER_LANES = ("mtp", "dflash", "lookup")
"""Lanes that the block-size sweep runs at one block size, beside DSpark at all of them."""


def lane_of(arm: str) -> str:
    """Lane of an arm: `g3` is DSpark at γ = 3, the others are called by their lane."""
    return arm if arm in ("plain", *OTHER_LANES) else "dspark"


def block_of(read, arm: str) -> int:
    """γ of an arm."""
    return round(read[f"window.block.{arm}"].value) if arm in OTHER_LANES else int(arm[1:])


@fact("window.block.{arm}", kind="count", arm=OTHER_LANES)
def block(read, arm):
    """most tokens that this lane may draft a round in the block-size sweep"""
    found = set(read.points("window", arm=arm).texts("block_size"))
    if len(found) > 1:
        raise Missing(f"the block-size sweep ran {arm} at several block sizes: {', '.join(sorted(found))}")
    return int(found.pop())


@fact("window.drafted_per_round.{arm}", kind="length", unit="token/round", arm=OTHER_LANES)
def drafted_per_round(read, arm):
    """drafts that the target verified / rounds, all contents: below the block size where a lane does not always have a guess"""
    rows = read.requests("window", content="all", arm=arm)
    return rows.sum("drafted") / rows.sum("rounds")


def gamma_of(key: str) -> int:
    """γ of a key such as `window.code.g3.speedup`."""
    return int(key.split(".")[2].removeprefix("g"))


@fact("window.{content}.{arm}.accept_length", kind="length", unit="token/round")
def accept_length(read, content, arm):
    """1 + accepted / rounds, bonus included, before truncation, pooled over the requests"""
    return measures.accept_length(read.requests("window", content=content, arm=arm))


@fact("window.{content}.{arm}.emitted_per_round", kind="length", unit="token/round")
def emitted_per_round(read, content, arm):
    """tokens after each request's first / rounds, pooled over the requests: what the user got"""
    return measures.emitted_per_round(read.requests("window", content=content, arm=arm))


@fact("window.{content}.{arm}.accept_rate", kind="probability")
def accept_rate(read, content, arm):
    """accepted / drafted, pooled over the requests"""
    return measures.accept_rate(read.requests("window", content=content, arm=arm))


@fact("window.{content}.{arm}.{block}", kind="duration", unit="ms/step", block=("step_ms", "draft_ms", "verify_ms", "commit_ms"))
def step_time(read, content, arm, block):
    """mean over the decode steps of the cell, wall clock of the engine"""
    return measures.per_step(read.points("window", content=content, arm=arm), block)


@fact("window.{content}.{arm}.tpot_ms", kind="duration", unit="ms/token", arm=("plain", *DECLARED["arm"]))
def tpot(read, content, arm):
    """(end - first token) / (tokens - 1), sums over the requests"""
    return measures.time_per_token(read.requests("window", content=content, arm=arm))


@fact("window.{content}.{arm}.tokens_per_s", kind="rate", unit="token/s", arm=("plain", *DECLARED["arm"]))
def tokens_per_s(read, content, arm):
    """1 / time per token, prefill left out"""
    return 1 / read[f"window.{content}.{arm}.tpot_ms"]


@fact("window.{content}.plain.{block}", kind="duration", unit="ms/step", block=("step_ms", "verify_ms", "commit_ms"))
def plain_step(read, content, block):
    """mean over the plain decode steps of the cell, wall clock of the engine"""
    return measures.per_step(read.points("window", content=content, arm="plain"), block)


@fact("window.{content}.{arm}.speedup", kind="ratio")
def speedup(read, content, arm):
    """plain time per token / speculative time per token, same prompts"""
    return read[f"window.{content}.plain.tpot_ms"] / read[f"window.{content}.{arm}.tpot_ms"]


@fact("window.{content}.distinct_4gram_share", kind="probability")
def distinct_4grams(read, content):
    """mean over the cells of distinct 4-grams / 4-grams of plain decoding's output"""
    return read.points("window", content=content, arm="plain").mean("distinct_4gram_share")


@fact("window.{content}.best_gamma", kind="count")
def best_gamma(read, content):
    """block size with the largest tokens/s"""
    return gamma_of(read.largest(arms(content, "tokens_per_s")))


@fact("window.{content}.best_speedup", kind="ratio")
def best_speedup(read, content):
    """speedup at the best block size, which was chosen on the same rows"""
    return read[f"window.{content}.g{best(read, content)}.speedup"]


@fact("window.{content}.best_tpot_ms", kind="duration", unit="ms/token")
def best_tpot(read, content):
    """time per token at the best block size"""
    return read[f"window.{content}.g{best(read, content)}.tpot_ms"]


def best(read, content) -> int:
    return round(read[f"window.{content}.best_gamma"].value)


@fact("window.{content}.tied_gammas", kind="label")
def tied_gammas(read, content):
    """block sizes whose tokens/s the noise does not tell from the best"""
    return ", ".join(str(gamma_of(key)) for key in tied(read, arms(content, "tokens_per_s")))


@fact("window.{content}.accept_at_pos.{slot}", kind="probability")
def accept_at_position(read, content, slot):
    """rounds that accepted draft K / rounds that accepted every draft before it, at the largest block size"""
    widest = round(read["window.widest_gamma"].value)
    if slot > widest:
        raise Missing(f"the largest block size measured is {widest}")
    rows = read.requests("window", content=content, arm=f"g{widest}")
    counts = [rows.sum(f"accepted_histogram[{k}]") for k in range(slot - 1, widest + 1)]
    return sum(counts[1:], Sample(0.0, "round")) / sum(counts, Sample(0.0, "round"))


@fact("window.widest_gamma", kind="count")
def widest_gamma(read):
    """largest block size with tokens/s for every content"""
    return max(gamma_of(key) for key in read.present(arms("all", "tokens_per_s")))


@fact("window.narrowest_gamma", kind="count")
def narrowest_gamma(read):
    """smallest block size with tokens/s for every content"""
    return min(gamma_of(key) for key in read.present(arms("all", "tokens_per_s")))


@fact("window.gammas_count", kind="count")
def gammas_count(read):
    """number of block sizes with tokens/s for every content"""
    return len(read.present(arms("all", "tokens_per_s")))


@fact("window.decode_ms", kind="duration", unit="ms/step")
def decode_ms(read):
    """T_decode: mean target forward of a plain step, all contents"""
    return measures.per_step(read.points("window", content="all", arm="plain"), "verify_ms")


@fact("window.verify_ms.w{width}", kind="duration", unit="ms/step")
def verify_ms(read, width):
    """T_verify(W): mean target forward over W positions, all contents; W = 1 is T_decode"""
    arm = "plain" if width == 1 else f"g{width - 1}"
    return measures.per_step(read.points("window", content="all", arm=arm), "verify_ms")


@fact("window.verify_ratio.w{width}", kind="ratio")
def verify_ratio(read, width):
    """T_verify(W) / T_decode"""
    return read[f"window.verify_ms.w{width}"] / read["window.decode_ms"]


@fact("window.draft_ratio.g{gamma}", kind="ratio")
def draft_ratio(read, gamma):
    """T_draft(γ) / T_decode, all contents"""
    return read[f"window.all.g{gamma}.draft_ms"] / read["window.decode_ms"]


@fact("window.best_content", kind="label")
def best_content(read):
    """content with the largest speedup at its best block size"""
    return read.largest(f"window.{content}.best_speedup" for content in ONE_CONTENT).split(".")[1]


@fact("window.worst_content", kind="label")
def worst_content(read):
    """content with the smallest speedup at its best block size"""
    keys = read.present(f"window.{content}.best_speedup" for content in ONE_CONTENT)
    return min(keys, key=lambda key: read[key].value).split(".")[1]


@fact("window.detectable", kind="percent", unit="percent")
def detectable(read):
    """smallest relative difference between two block sizes that the noise would not swallow, all contents"""
    keys = sorted(read.present(arms("all", "tokens_per_s")), key=lambda key: -read[key].value)
    if len(keys) < 2:
        raise Missing("one block size only")
    return math.expm1(noise_of(read, read[keys[0]] / read[keys[1]]))


measures.alias(
    "window.{content}.at_best",
    SPECULATIVE,
    lambda read, content: f"window.{content}.g{best(read, content)}",
    "the value at the content's best block size",
)
measures.alias(
    "window.{content}.at_widest",
    SPECULATIVE,
    lambda read, content: f"window.{content}.g{round(read['window.widest_gamma'].value)}",
    "the value at the largest block size",
)
measures.alias(
    "window.{content}.at_narrowest",
    SPECULATIVE,
    lambda read, content: f"window.{content}.g{round(read['window.narrowest_gamma'].value)}",
    "the value at the smallest block size",
)
