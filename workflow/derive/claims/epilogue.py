"""What tuning on one number alone would have missed."""

from workflow.derive.claims.kinds import above
from workflow.derive.registry import claim

SAME = -1.0
"""Margin where both choose one block size: no noise can turn that into a difference."""


@claim("epilogue.accept_alone_misleads", kind="direction", says=("longest", "best", "faster", "fastest"))
def accept_alone_misleads(read):
    """The block size with the best speedup is faster than the one with the largest accept length."""
    read.cite(
        *(f"epilogue.by_accept.{what}" for what in ("gamma", "speedup", "accept_length", "given_up")),
        *(f"window.all.{what}" for what in ("best_gamma", "plain.tpot_ms", "distinct_4gram_share")),
    )
    gain = above(read["window.all.best_speedup"], read["epilogue.by_accept.speedup"])
    same = read.exact("epilogue.by_accept.gamma").value == read.exact("window.all.best_gamma").value
    return SAME if same else gain


@claim("epilogue.tpot_alone_misattributes", kind="bound", measure="share")
def tpot_alone_misattributes(read):
    """More of a long input's extra time lies before the first token than the bound: time per token does not see it."""
    read.cite("epilogue.by_tpot.unseen", "loss.step_share", "loss.accept_share", "loss.from_isl", "loss.to_isl", "loss.e2e_ratio")
    return read["epilogue.by_tpot.unseen"].to("") - read.threshold("epilogue.tpot_alone_misattributes").to("")
