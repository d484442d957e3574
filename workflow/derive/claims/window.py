"""The block size: where the best one lies, and why."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.facts.window import SPECULATIVE, arms, gamma_of
from workflow.derive.registry import DECLARED, claim
from workflow.derive.sample import Sample, greatest, least


def rates(read) -> dict[int, Sample]:
    """tokens/s by block size, all contents."""
    return {gamma_of(key): read[key] for key in read.present(arms("all", "tokens_per_s"))}


def cite(read) -> None:
    read.cite(
        "window.all.best_gamma",
        "window.all.best_speedup",
        "window.all.best_tpot_ms",
        "window.all.plain.tpot_ms",
        "window.all.tied_gammas",
        "window.detectable",
        "window.all.distinct_4gram_share",
        "window.widest_gamma",
        "window.narrowest_gamma",
        "window.gammas_count",
        *(f"window.all.{place}.{name}" for place in ("at_best", "at_widest", "at_narrowest") for name in SPECULATIVE),
    )


@claim("window.interior_optimum", kind="superlative", says=("best", "longest", "smallest", "win"))
def interior_optimum(read):
    """Some block size between the smallest and the largest serves more tokens/s than both ends, all contents."""
    cite(read)
    found = rates(read)
    if len(found) < 3:
        read.unresolved("fewer than three block sizes measured")
    ends = [found[min(found)], found[max(found)]]
    inside = greatest([rate for gamma, rate in found.items() if min(found) < gamma < max(found)])
    return least([above(inside, end) for end in ends])


@claim("window.narrow_wins", kind="direction", says=("holds.best", "fails.best"))
def narrow_wins(read):
    """The best block size up to the bound serves more tokens/s than the best one beyond it, all contents."""
    cite(read)
    limit = read.threshold("window.narrow_wins").value
    found = rates(read)
    narrow = [rate for gamma, rate in found.items() if gamma <= limit]
    wide = [rate for gamma, rate in found.items() if gamma > limit]
    if not narrow or not wide:
        read.unresolved("block sizes on one side of the bound only")
    return above(greatest(narrow), greatest(wide))


def bend(read, what: str) -> Sample:
    """Mean growth a block size in the upper half of the measured range over that in the lower half."""
    keys = read.present(arms("all", what))
    if len(keys) < 3:
        read.unresolved("fewer than three block sizes measured")
    low, mid, high = keys[0], keys[len(keys) // 2], keys[-1]
    upper = (read[high] - read[mid]) / (gamma_of(high) - gamma_of(mid))
    lower = (read[mid] - read[low]) / (gamma_of(mid) - gamma_of(low))
    if min(upper.value, lower.value) <= 0:
        read.unresolved("it does not grow over both halves of the range")
    return upper / lower


@claim("window.step_superlinear", kind="direction")
def step_superlinear(read):
    """A step grows more for each further draft in the upper half of the block sizes than in the lower half."""
    cite(read)
    return above(bend(read, "step_ms"))


@claim("window.accept_sublinear", kind="direction")
def accept_sublinear(read):
    """The accept length gains less from each further draft in the upper half of the block sizes than in the lower half."""
    cite(read)
    return below(bend(read, "accept_length"))


@claim("window.fixed_overhead", kind="bound", measure="share of a plain step")
def fixed_overhead(read):
    """On the straight line through the steps of all block sizes, a step without a draft costs more than a plain one."""
    read.cite("window.fixed.draft_adds_ms", "window.fixed.overhead_ms")
    # a steep line meets no draft below zero, where there is no logarithm
    plain = read["window.all.plain.step_ms"]
    margin = (read["window.fixed.step_ms"] / plain).to("") - 1
    # what lies off the line may lie there at no draft as well
    return margin, (read.exact("window.fixed.off_line_ms") / plain).to("").value


@claim("window.spec_pays.{content}", kind="direction")
def spec_pays(read, content):
    """DSpark at its best block size beats plain decoding on this content, one request at a time."""
    read.cite(
        f"window.{content}.best_gamma",
        f"window.{content}.best_speedup",
        f"window.{content}.best_tpot_ms",
        f"window.{content}.plain.tpot_ms",
        f"window.{content}.distinct_4gram_share",
        f"window.{content}.tied_gammas",
    )
    return above(read[read.largest(f"window.{content}.g{gamma}.speedup" for gamma in DECLARED["gamma"])])
