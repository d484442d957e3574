"""The search."""

import math

from workflow.derive.claims.kinds import above
from workflow.derive.registry import claim


@claim("search.boot_dominates", kind="bound")
def boot_dominates(read):
    """Booting takes more than the bound's share of the search."""
    read.cite("search.boots", "search.boot_s", "search.minutes", "search.cells")
    return above(read["search.boot_share"], read.threshold("search.boot_dominates"))


@claim("search.winner_confirmed", kind="direction", says=("fails.lose",))
def winner_confirmed(read):
    """The candidate beats the base on boots that had no part in choosing it, and so is the winner."""
    read.cite(
        "search.winner",
        "search.winner_label",
        "search.base_label",
        "search.winner_flags",
        "search.base_flags",
        "search.winner_gamma",
        "search.base_gamma",
        "search.winner_ratio",
        "search.plain_tpot_ms",
        "search.detectable",
        "search.concurrency",
        "search.boots",
    )
    # the rule of the search itself: an interval over the pairs, which knows the A/A pairs' spread; the largest A/A difference has no say beside it
    ratio = above(read.exact("search.confirm_ratio"))
    if not read.has("search.detectable"):
        read.unresolved("nothing says how far the ratio of fresh boots may be off")
    return ratio, math.log1p(read.exact("search.detectable").to("").value)


@claim("search.staged_cheaper", kind="ratio")
def staged_cheaper(read):
    """Trying the full grid, by the search's own means of a boot and a cell, would have taken longer than the search did."""
    read.cite("search.minutes", "shape.grid_minutes", "shape.grid_configurations", "shape.grid_loads")
    return above(read["shape.grid_ratio"])
