"""Whether guesses pay on a cheaper step."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.facts.modes import ARMS, BASE, MODES, regimes_of, shares
from workflow.derive.facts.replayed import MODELS
from workflow.derive.facts.sizes import TERMS
from workflow.derive.registry import claim
from workflow.derive.sample import greatest


def cite(read) -> None:
    read.cite(
        "modes.cheapest",
        "modes.content",
        "modes.count",
        "modes.widest",
        "modes.in_sweep.widest_ratio",
        "modes.in_sweep.mode",
        "modes.distinct_4gram_share",
        *(
            f"{place}.{what}"
            for place in (f"modes.{BASE}", "modes.in_cheapest")
            for what in ("plain.tpot_ms", "at_best.speedup", "at_best.accept_length", "best_gamma", "plain.verify_ms", "over_bound", "widest_ratio")
        ),
    )


def another(read) -> str:
    """The mode with the cheapest plain token, which has to be another than the one they are held against."""
    found = read.label("modes.cheapest")
    if found == BASE:
        read.unresolved("no other mode has a cheaper plain token")
    return found


@claim("modes.cheaper_pays_less", kind="direction")
def cheaper_pays_less(read):
    """The largest speedup over plain decoding is smaller in the mode with the cheapest plain token than in eager mode."""
    cite(read)
    read[f"modes.{BASE}.at_best.speedup"]
    return below(read[f"modes.{another(read)}.at_best.speedup"], read[f"modes.{BASE}.at_best.speedup"])


@claim("modes.spec_pays.{mode}", kind="direction", says=("holds.win", "fails.lose"), mode=MODES)
def spec_pays(read, mode):
    """DSpark at its best block size takes less time a token than plain decoding in the same mode."""
    read.cite(
        f"modes.{mode}.plain.tpot_ms",
        f"modes.{mode}.best_gamma",
        f"modes.{mode}.at_best.speedup",
        f"modes.{mode}.at_best.tpot_ms",
        f"modes.{mode}.at_best.verify_ratio",
        f"modes.{mode}.at_best.break_even_ratio",
        "modes.distinct_4gram_share",
    )
    return above(read[read.largest(f"modes.{mode}.{arm}.speedup" for arm in ARMS)])


@claim("modes.window_weighs_more", kind="direction")
def window_weighs_more(read):
    """In plain steps of the same mode, the widest window costs more in the mode with the cheapest plain token than in eager mode."""
    cite(read)
    found = another(read)
    return above(read[f"modes.{found}.widest_ratio"], read[f"modes.{BASE}.widest_ratio"])


@claim("modes.beats_memory", kind="direction")
def beats_memory(read):
    """In the mode with the cheapest plain token the forward of a plain step takes less time than reading all weights from memory once."""
    cite(read)
    return below(read[f"modes.{another(read)}.over_bound"])


@claim("modes.regime.{mode}", kind="bound", measure="share of a plain forward", mode=MODES)
def regime(read, mode):
    """A plain forward is consistent with one thing that bounds it: the cache, the bandwidth of memory, or dispatch."""
    read.cite(f"modes.{mode}.regime", *(f"modes.{mode}.share.{part}" for part in ("memory", "position", "fixed")))
    return greatest(list(regimes_of(shares(read, mode)).values()))


@claim("modes.size.window_cheaper.{larger}", kind="direction", larger=tuple(MODELS))
def window_cheaper(read, larger):
    """In plain steps of its own, verifying a window costs this larger model less than the trained one."""
    read.cite(*(f"modes.size.{larger}.{term}_ms" for term in TERMS))
    return below(read[f"modes.size.{larger}.verify_ratio"], read["modes.size.trained.verify_ratio"])
