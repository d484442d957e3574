"""What the division may claim."""

from workflow.derive import division
from workflow.derive.claims.kinds import above, below, within
from workflow.derive.facts.ruler import RULERS
from workflow.derive.facts.window import arms, gamma_of
from workflow.derive.registry import DECLARED, claim
from workflow.derive.sample import least


@claim("division.predicts", kind="bound", measure="relative gap", says=("worst",))
def predicts(read):
    """Out of sample, the predicted speedup of every content and block size is within the bound of the measured one."""
    read.cite("division.mean_gap", "division.cells", "division.other_text_gap", "division.other_ms")
    return within(read["division.worst_gap"], read.threshold("division.predicts")), read.floor


@claim("division.chooses_gamma", kind="bound", measure="relative gap", says=("best", "longest"))
def chooses_gamma(read):
    """The block size that the division chooses from one run at the largest serves within the bound of the best, for every content."""
    keys = read.present(f"division.{content}.regret" for content in DECLARED["one_content"])
    read.cite(
        "division.all.chosen_gamma",
        "division.all.regret",
        "window.all.best_gamma",
        *(key.replace("regret", "chosen_gamma") for key in keys),
    )
    worst = max(keys, key=lambda key: read[key].value)
    return within(read[worst], read.threshold("division.chooses_gamma")), read.floor


@claim("division.two_passes_never_pay", kind="bound", says=("holds.lose",))
def two_passes_never_pay(read):
    """Wherever verifying a window costs as much as decoding its tokens one at a time, speculation loses."""
    read.cite("window.verify_ratio.w2", "division.code.break_even_verify_ms", "division.code.verify_at_best_ms")
    read.present(arms("all", "verify_ms"))
    costly = []
    for content in DECLARED["one_content"]:
        token = f"window.{content}.plain.tpot_ms"
        for key in filter(read.has, arms(content, "verify_ms")):
            if read.has(token) and division.can_never_pay(read[key].value, read[token].value, gamma_of(key)):
                costly.append(key.replace("verify_ms", "speedup"))
    if not costly:
        read.unresolved("no window that was measured costs as much as decoding its tokens one at a time")
    return least([below(read[key]) for key in costly])


@claim("division.breaks_even", kind="bound", measure="relative room", says=("holds.win", "fails.lose"))
def breaks_even(read):
    """Over all contents, at the block size that is fastest, verifying costs less than the most it may cost: the measured speedup, restated."""
    read.cite("window.all.best_gamma")
    return read["division.all.break_even_verify_ms"] / read["division.all.verify_at_best_ms"] - 1


@claim("division.block_sum_misleads", kind="bound")
def block_sum_misleads(read):
    """With the verification timed as the sum of its blocks, the division is further from the measured speedup than with its own clock."""
    read.cite(*(f"division.ruler.{ruler}.verify_ratio" for ruler in RULERS), "window.all.best_gamma", "window.all.plain.tpot_ms")
    measured = read["window.all.best_speedup"]
    by_blocks, by_clock = (abs(above(read[f"division.ruler.{ruler}.speedup"], measured)) for ruler in RULERS)
    return by_blocks - by_clock
