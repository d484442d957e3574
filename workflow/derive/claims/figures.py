"""Figures that the project set out to reach, stated whether reached or not."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.registry import claim


@claim("figures.verify_cheap", kind="bound")
def verify_cheap(read):
    """Verifying four positions costs less than the bound times a plain step."""
    read.cite(
        "window.decode_ms", "window.verify_ms.w4", "window.verify_ratio.w8", "window.all.plain.tpot_ms", "window.all.distinct_4gram_share"
    )
    return below(read["window.verify_ratio.w4"], read.threshold("figures.verify_cheap"))


@claim("figures.{one_content}_speedup", kind="ratio", says=("best",), one_content=("arith", "code", "en"))
def speedup(read, one_content):
    """DSpark at its best block size is at least the bound times as fast as plain decoding on this content, one request at a time."""
    read.cite(
        f"window.{one_content}.best_gamma",
        f"window.{one_content}.best_tpot_ms",
        f"window.{one_content}.plain.tpot_ms",
        f"window.{one_content}.distinct_4gram_share",
    )
    return above(read[f"window.{one_content}.best_speedup"], read.threshold(f"figures.{one_content}_speedup"))
