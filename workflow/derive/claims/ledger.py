"""The division over published figures: arithmetic that no clock of ours enters."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.registry import claim
from workflow.derive.sample import least


@claim("ledger.two_forwards_lose", kind="bound")
def two_forwards(read):
    """With one draft and a verification of two forwards, the largest speedup is below one."""
    return below(read.exact("ledger.bound"))


@claim("ledger.rulers_flip", kind="bound")
def rulers(read):
    """Verification by added blocks and plain decoding by the whole graph say gain, one ruler says loss."""
    read.cite("ledger.left_out", "ledger.blocks_ms", "ledger.graph_ms")
    return least([above(read.exact("ledger.mixed")), below(read.exact("ledger.one_ruler"))])


@claim("ledger.too_dear", kind="bound", says=("holds.lose",))
def too_dear(read):
    """The published verification costs more than what would break even."""
    read.cite("ledger.break_even_ms", "ledger.verify_ms", "ledger.decode_ms", "ledger.predicted", "ledger.plain_rate", "ledger.speculative_rate", "ledger.gap", "ledger.slowdown")
    return above(read.exact("ledger.verify_steps.wall"), read.exact("ledger.break_even_steps"))
