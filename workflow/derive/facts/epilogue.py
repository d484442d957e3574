"""What one number alone would have chosen: the accept length, or the time per token."""

from workflow.derive.facts.window import block_of
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

GAMMAS = DECLARED["gamma"]


@fact("epilogue.by_accept.gamma", kind="count")
def by_accept(read):
    """block size with the largest accept length over all contents"""
    best = read.largest(f"window.all.g{gamma}.accept_length" for gamma in GAMMAS)
    return block_of(read, best.split(".")[2])


@fact("epilogue.by_accept.speedup", kind="ratio")
def by_accept_speedup(read):
    """speedup over plain decoding of that block size, over all contents"""
    return read[f"window.all.g{round(read['epilogue.by_accept.gamma'].value)}.speedup"]


@fact("epilogue.by_accept.accept_length", kind="length", unit="token/round")
def by_accept_length(read):
    """accept length of that block size, over all contents"""
    return read[f"window.all.g{round(read['epilogue.by_accept.gamma'].value)}.accept_length"]


@fact("epilogue.by_accept.given_up", kind="percent", unit="percent")
def given_up(read):
    """1 - speedup of that block size / best speedup over all contents"""
    return 1 - read["epilogue.by_accept.speedup"] / read["window.all.best_speedup"]


@fact("epilogue.by_tpot.unseen", kind="percent", unit="percent")
def unseen(read):
    """share of a long input's extra time that lies before the first token, where time per token does not look"""
    share = read["loss.prefill_share"]
    if read["loss.e2e_ratio"].value <= 1:
        raise Missing("a long input took no longer than a short one")
    return Sample(share.to("percent").values, "percent")
