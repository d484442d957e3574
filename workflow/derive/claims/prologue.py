"""The fraction, and the largest win and loss of the eager sweeps."""

from workflow.derive.claims.kinds import above, below, within
from workflow.derive.facts.comparisons import losers, winners
from workflow.derive.registry import claim


@claim("prologue.fraction_closes", kind="product", measure="relative gap", says=("best", "worst"))
def fraction_closes(read):
    """Tokens a step over step latency equals the client's throughput within the bound, in every cell of the block-size sweep."""
    read.cite("prologue.residual", "prologue.best.accepted_per_step", "prologue.best.step_ms", "prologue.best.throughput")
    return within(read["prologue.worst_residual"], read.threshold("prologue.fraction_closes"))


@claim("prologue.largest_win", kind="superlative", says=("largest",))
def largest_win(read):
    """Of the eager sweeps, one comparison beats plain decoding by more than those at every other content, length or load, at its own best arm."""
    first, *others = winners(read)
    cite(read, "win")
    if not others:
        read.unresolved("one comparison only: nothing for it to be the largest of")
    lead = above(read[first.ratio], read[others[0].ratio])
    win = above(read[first.ratio])
    return lead if lead.value < win.value else win


@claim("prologue.largest_loss", kind="superlative", says=("largest", "fails.smallest"))
def largest_loss(read):
    """Of the eager sweeps, one comparison loses to plain decoding by more than those at every other content, length or load, at its own worst arm."""
    first, *others = losers(read)
    cite(read, "loss")
    if not others:
        read.unresolved("one comparison only: nothing for it to be the largest of")
    lead = below(read[first.ratio], read[others[0].ratio])
    loss = below(read[first.ratio])
    return lead if lead.value < loss.value else loss


def cite(read, which: str) -> None:
    names = (
        "ratio",
        "accept_factor",
        "step_factor",
        "rest_factor",
        "label",
        "lane",
        "content",
        "gamma",
        "concurrency",
        "isl",
        "tpot_ms",
        "plain_tpot_ms",
        "distinct_4gram_share",
    )
    read.cite(*(f"prologue.{which}.{name}" for name in names))
