"""Which lane serves more, at which load."""

from workflow.derive.claims.kinds import above, below, largest
from workflow.derive.facts.lanes import arm_of, every_arm, levels
from workflow.derive.facts.window import OTHER_LANES, lane_of
from workflow.derive.registry import DECLARED, claim
from workflow.derive.sample import greatest, least


def cite(read) -> None:
    names = ("tpot_ms", "output_throughput", "ttft_ms")
    read.cite(
        "lanes.most",
        "lanes.least",
        "lanes.levels",
        "lanes.gamma",
        "lanes.crossover",
        "lanes.crossing",
        "lanes.first_loss",
        "lanes.distinct_4gram_share",
        "lanes.at_one.ratio",
        "lanes.at_most.ratio",
        *(f"lanes.at_{place}.{lane}.{name}" for place in ("one", "most") for lane in DECLARED["lane"] for name in names),
    )


@claim("lanes.best_absolute", kind="superlative", says=("fastest",))
def best_absolute(read):
    """A speculative lane, at its best block size and mode, serves more tokens/s than every other lane, plain decoding of any mode included.

    One request at a time, on the text on which the modes were compared. Fails where plain decoding serves the most.
    """
    read.cite(
        *(f"lanes.best_at_one.{what}" for what in ("lane", "gamma", "mode", "content", "tokens_per_s", "plain_tpot_ms", "plain_mode", "flags", "plain_flags")),
        "lanes.best_at_most.arm",
        "lanes.best_at_most.arms",
        "lanes.best_at_most.source",
        "lanes.best_at_most.output_throughput",
        "window.all.distinct_4gram_share",
    )
    lanes: dict[str, list] = {}
    for key in read.present(every_arm(read)):
        lanes.setdefault(lane_of(arm_of(key)), []).append(read[key])
    if len(lanes) < 2:
        read.unresolved("one lane only")
    best = {lane: greatest(rates) for lane, rates in lanes.items()}
    first = max(best, key=lambda lane: best[lane].value)
    lead = largest(best[first], [rate for lane, rate in best.items() if lane != first])
    return -lead if first == "plain" else lead


@claim("lanes.spec_wins_at_one", kind="direction", says=("holds.win", "fails.lose"))
def spec_wins_at_one(read):
    """Speculation serves more output tokens/s than plain decoding at the smallest concurrency."""
    cite(read)
    return above(read[f"lanes.c{levels(read)[0]}.ratio"])


@claim("lanes.crossover_exists", kind="direction", says=("fails.lose", "fails.win", "unresolved.win", "unresolved.lose"))
def crossover_exists(read):
    """Speculation serves more at the smallest concurrency and plain decoding serves more at the largest."""
    cite(read)
    found = levels(read)
    if len(found) < 2:
        read.unresolved("one concurrency only")
    return least([above(read[f"lanes.c{found[0]}.ratio"]), below(read[f"lanes.c{found[-1]}.ratio"])])


@claim("lanes.drafter_pays.{drafter}", kind="direction", says=("holds.win", "fails.lose"), drafter=OTHER_LANES)
def drafter_pays(read, drafter):
    """This drafter, at the one block size it ran at, takes less time a token than plain decoding, all contents, one request at a time."""
    read.cite(
        f"window.block.{drafter}",
        f"window.drafted_per_round.{drafter}",
        *(f"window.all.{drafter}.{what}" for what in ("accept_length", "draft_ms", "tpot_ms")),
        "window.all.plain.tpot_ms",
        "window.all.distinct_4gram_share",
    )
    return above(read[f"window.all.{drafter}.speedup"])
