"""What to run."""

from workflow.derive.claims.kinds import above, counted
from workflow.derive.registry import DECLARED, claim

SPECULATIVE = DECLARED["arm"]


@claim("run.{content}.verdict", kind="direction")
def verdict(read, content):
    """The fastest speculative arm beats plain decoding, one request at a time; where it fails: do not speculate."""
    read.cite(
        *(f"run.{content}.{name}" for name in ("lane", "gamma", "speedup", "tpot_ms", "plain_tpot_ms")),
        f"window.{content}.distinct_4gram_share",
    )
    best = read.largest(f"window.{content}.{arm}.speedup" for arm in SPECULATIVE)
    return above(read[best])


@claim("run.outputs_equal", kind="count", measure="outputs")
def outputs_equal(read):
    """No greedy output of a speculative lane differs from plain decoding's of the same prompt."""
    read.cite("run.lossless.compared", "run.lossless.equal")
    if read.exact("run.lossless.compared").value == 0:
        read.unresolved("no output was compared")
    return counted(read["run.lossless.differing"], 0)


@claim("run.band.{band}.verdict", kind="direction", says=("holds.win", "unresolved.win"), band=("one", "few", "many"))
def band_verdict(read, band):
    """Speculation serves more than plain decoding at this band's concurrency."""
    read.cite(f"run.band.{band}.lane", f"run.band.{band}.concurrency", f"run.band.{band}.plain.tpot_ms", f"run.band.{band}.dspark.tpot_ms")
    return above(read[f"run.band.{band}.ratio"])
