"""Two rulers in one division: a verification timed as the sum of its blocks, over a plain step timed as a whole.

The blocks of a forward leave out what happens between them. In the verify-cost sweep both stand in one row: the forward on its own clock, and the
timers of its blocks, added up. Everything else of the division is what the block-size sweep measured.
"""

from workflow.derive import division
from workflow.derive.facts.division import terms
from workflow.derive.facts.window import best
from workflow.derive.registry import fact
from workflow.derive.rows import Rows
from workflow.derive.sample import Sample

RULERS = {"blocks": "block_sum_ms", "clock": "median_ms"}
"""What a verification is timed with -> its column; a plain step is timed with the clock in either case."""


def forward(read, width: int) -> Rows:
    """The forward of one request over so many positions, in the mode of the block-size sweep."""
    mode = read.label("modes.in_sweep.mode")
    shared = {"fused_verify": "shared"} if mode == "fused" else {}
    return read.costs(model="trained", quantity="verify", lane=None, batch=1, mode=mode, width=width, **shared)


@fact("division.ruler.{ruler}.verify_ratio", kind="ratio", ruler=tuple(RULERS))
def verify_ratio(read, ruler):
    """T_verify over the window of the best block size, on its own clock or as the sum of its blocks / T_decode on its own clock"""
    verify, decode = forward(read, best(read, "all") + 1), forward(read, 1)
    return Sample(verify.read(RULERS[ruler]).mean(), verify.unit(RULERS[ruler])) / Sample(decode.read("median_ms").mean(), decode.unit("median_ms"))


@fact("division.ruler.{ruler}.speedup", kind="ratio", status="computed", ruler=tuple(RULERS))
def speedup(read, ruler):
    """τ (T_d + o) / (T_draft + that ratio * the forward of a plain step + T_commit + r) at the best block size, all contents"""
    gamma = best(read, "all")
    cell = terms(read, "all", gamma)
    plain = read["window.all.plain.verify_ms"] * Sample(1.0, "step/round")
    return division.speedup(**cell | {"verify": read[f"division.ruler.{ruler}.verify_ratio"] * plain}).to("")
