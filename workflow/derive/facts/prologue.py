"""One fraction: the best run of the block-size sweep, and the largest win and loss of the eager sweeps, each as two factors."""

from __future__ import annotations

from workflow.derive.facts import measures
from workflow.derive.facts.comparisons import BY_THROUGHPUT, Comparison, chosen
from workflow.derive.facts.window import block_of, lane_of
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

ONE_CONTENT = DECLARED["one_content"]
ARMS = DECLARED["arm"]


def window_arms() -> list[str]:
    return [f"window.{content}.{arm}.tokens_per_s" for content in ONE_CONTENT for arm in ("plain", *ARMS)]


def best_run(read) -> tuple[str, str]:
    """(content, arm) with the largest tokens/s at one request at a time."""
    _, content, arm, _ = read.largest(window_arms()).split(".")
    return content, arm


@fact("prologue.best.content", kind="label")
def best_content(read):
    """content of the cell with the largest tokens/s, one request at a time"""
    return best_run(read)[0]


@fact("prologue.best.lane", kind="label")
def best_lane(read):
    """lane of the cell with the largest tokens/s, one request at a time"""
    return lane_of(best_run(read)[1])


@fact("prologue.best.gamma", kind="count")
def best_gamma(read):
    """block size of the cell with the largest tokens/s"""
    arm = best_run(read)[1]
    if arm == "plain":
        raise Missing("the fastest cell is plain decoding, which drafts nothing")
    return block_of(read, arm)


@fact("prologue.best.accepted_per_step", kind="length", unit="token/step")
def best_tokens(read):
    """tokens a round x rounds a step of that cell; one for plain decoding"""
    content, arm = best_run(read)
    return tokens_a_step(read, content, arm)


@fact("prologue.best.step_ms", kind="duration", unit="ms/step")
def best_step(read):
    """mean decode step of that cell, wall clock of the engine"""
    content, arm = best_run(read)
    return read[f"window.{content}.{arm}.step_ms"]


def tokens_a_step(read, content: str, arm: str) -> Sample:
    points = read.points("window", content=content, arm=arm)
    if arm == "plain":
        return points.sum("decode_tokens") / points.sum("steps")
    return read[f"window.{content}.{arm}.emitted_per_round"] * measures.rounds_per_step(points)


@fact("prologue.best.throughput", kind="rate", unit="token/s")
def best_throughput(read):
    """tokens/s of that cell on the client's clock, prefill left out"""
    content, arm = best_run(read)
    return read[f"window.{content}.{arm}.tokens_per_s"]


@fact("prologue.best.{which}tpot_ms", kind="duration", unit="ms/token", which=("", "plain_"))
def best_tpot(read, which):
    """time per token of that cell, or of plain decoding on the same prompts"""
    content, arm = best_run(read)
    return read[f"window.{content}.{'plain' if which else arm}.tpot_ms"]


@fact("prologue.best.distinct_4gram_share", kind="probability")
def best_distinct(read):
    """share of distinct 4-grams in that cell's output"""
    return read[f"window.{best_run(read)[0]}.distinct_4gram_share"]


def residual_of(read, content: str, arm: str) -> Sample:
    return tokens_a_step(read, content, arm) / read[f"window.{content}.{arm}.step_ms"] / read[f"window.{content}.{arm}.tokens_per_s"] - 1


@fact("prologue.residual", kind="percent", unit="percent")
def residual(read):
    """accepted tokens a step / step latency, against the client's throughput, for the best run"""
    return residual_of(read, *best_run(read))


@fact("prologue.worst_residual", kind="percent", unit="percent")
def worst_residual(read):
    """largest |tokens a step / step latency / client's throughput - 1| over contents and arms, one request at a time"""
    found = [residual_of(read, *key.split(".")[1:3]) for key in read.present(window_arms())]
    return abs(max(found, key=lambda sample: abs(sample.value)))


def said(read, which: str, column: str) -> list[str]:
    """What the rows of speculation in that cell say in one column."""
    comparison = chosen(read, which)
    return sorted(set(read.points(comparison.sweep, **comparison.where).texts(column)))


BOTH = ("win", "loss")


@fact("prologue.{which}.ratio", kind="ratio", which=BOTH)
def ratio(read, which):
    """largest (win) or smallest (loss) speed of speculation / speed of plain decoding under the same load, in the eager sweeps but that of arrivals on a timetable"""
    return read[chosen(read, which).ratio]


def tokens_of(read, comparison: Comparison, where: dict) -> Sample:
    """Tokens after the first a decode step.

    Speculation's come from the request rows where the speed ratio does, one request at a time, so that one draw serves both.
    """
    points = read.points(comparison.sweep, **where)
    if comparison.sweep in BY_THROUGHPUT or where is comparison.plain_where:
        return points.sum("decode_tokens") / points.sum("steps")
    return measures.emitted_per_round(read.requests(comparison.sweep, **where)) * measures.rounds_per_step(points)


@fact("prologue.{which}.accept_factor", kind="ratio", which=BOTH)
def accept_factor(read, which):
    """tokens a decode step of that cell / tokens a decode step of plain decoding under the same load"""
    comparison = chosen(read, which)
    return tokens_of(read, comparison, comparison.where) / tokens_of(read, comparison, comparison.plain_where)


@fact("prologue.{which}.step_factor", kind="ratio", which=BOTH)
def step_factor(read, which):
    """mean decode step of plain decoding / mean decode step of that cell, wall clock of the engine"""
    comparison = chosen(read, which)
    plain, own = (
        measures.per_step(read.points(comparison.sweep, **where), "step_ms") for where in (comparison.plain_where, comparison.where)
    )
    return plain / own


@fact("prologue.{which}.rest_factor", kind="ratio", which=BOTH)
def rest_factor(read, which):
    """ratio / (accept factor x step factor): what prefill, the time between steps and the client do to the ratio"""
    factors = read[f"prologue.{which}.accept_factor"] * read[f"prologue.{which}.step_factor"]
    return read[f"prologue.{which}.ratio"] / factors


@fact("prologue.{which}.step_growth", kind="ratio", which=BOTH)
def step_growth(read, which):
    """1 / (step factor x rest factor): what a step costs the client, the time outside the steps included, against a plain one"""
    return 1 / (read[f"prologue.{which}.step_factor"] * read[f"prologue.{which}.rest_factor"])


@fact("prologue.{which}.label", kind="label", which=BOTH)
def label(read, which):
    """sweep that holds that cell"""
    return chosen(read, which).sweep


@fact("prologue.{which}.lane", kind="label", which=BOTH)
def lane(read, which):
    """lane of that cell"""
    return chosen(read, which).lane


@fact("prologue.{which}.content", kind="label", which=BOTH)
def content(read, which):
    """content of that cell; mixed where requests of all kinds run at once"""
    return ", ".join(said(read, which, "content"))


@fact("prologue.{which}.gamma", kind="count", which=BOTH)
def gamma(read, which):
    """block size of that cell, if it has one"""
    sizes = said(read, which, "block_size")
    return int(sizes[0]) if len(sizes) == 1 and sizes[0].isdigit() else None


@fact("prologue.{which}.concurrency", kind="count", which=BOTH)
def concurrency(read, which):
    """requests in flight of that cell"""
    return int(said(read, which, "max_concurrency")[0])


@fact("prologue.{which}.isl", kind="count", unit="token", which=BOTH)
def isl(read, which):
    """input length of that cell, where the sweep sets one"""
    lengths = said(read, which, "isl")
    if len(lengths) != 1 or not lengths[0].isdigit():
        raise Missing("that sweep leaves prompts their natural length")
    return Sample(int(lengths[0]), "token")


@fact("prologue.{which}.tpot_ms", kind="duration", unit="ms/token", which=BOTH)
def tpot(read, which):
    """time per token of speculation in that cell"""
    return read[chosen(read, which).tpot]


@fact("prologue.{which}.plain_tpot_ms", kind="duration", unit="ms/token", which=BOTH)
def plain_tpot(read, which):
    """time per token of plain decoding under the same load"""
    return read[chosen(read, which).plain_tpot]


@fact("prologue.{which}.distinct_4gram_share", kind="probability", which=BOTH)
def distinct(read, which):
    """share of distinct 4-grams in the output of that sweep or content"""
    return read[chosen(read, which).distinct]
