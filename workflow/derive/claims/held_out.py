"""Whether the best block size still pays on a boot that had no part in choosing it."""

from workflow.derive.claims.kinds import above
from workflow.derive.registry import claim


@claim("window.held_out_pays", kind="direction")
def held_out_pays(read):
    """The block size that is fastest on all boots but one beats plain decoding on that one, all contents."""
    read.cite("window.all.best_speedup", "window.all.best_gamma", "window.all.plain.tpot_ms", "window.all.distinct_4gram_share")
    return above(read["window.all.at_best.speedup_held_out"])
