"""The search."""

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
        "search.winner_gamma",
        "search.base_gamma",
        "search.winner_ratio",
        "search.plain_tpot_ms",
        "search.detectable",
        "search.concurrency",
        "search.boots",
    )
    return above(read["search.confirm_ratio"])


@claim("search.staged_cheaper", kind="ratio")
def staged_cheaper(read):
    """Trying the full grid, by the search's own means of a boot and a cell, would have taken longer than the search did."""
    read.cite("search.minutes", "shape.grid_minutes", "shape.grid_configurations", "shape.grid_loads")
    return above(read["shape.grid_ratio"])
