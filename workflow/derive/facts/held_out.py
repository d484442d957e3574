"""The best block size, chosen on some boots and read on another: what choosing and measuring on the same rows adds is left out."""

from __future__ import annotations

import math

import numpy as np

from workflow.derive.facts.search import aa_logs
from workflow.derive.facts.window import arms
from workflow.derive.paired import Paired, spread
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

LEAST_BOOTS = 3
"""With two, each boot would be chosen for by one other, and nothing would be averaged."""


def by_boot(read, content: str) -> np.ndarray:
    """ln(speedup) [block sizes, boots] of the block sizes that ran on every boot. Missing below `LEAST_BOOTS`."""
    alone = [read.fact(key).fact.repeats for key in read.present(arms(content, "speedup"))]
    boots = max(map(len, alone))
    if boots < LEAST_BOOTS:
        raise Missing(f"fewer than {LEAST_BOOTS} boots: too few to choose a block size on all but one")
    return np.log([one for one in alone if len(one) == boots])


def held_out(logs: np.ndarray) -> list[float]:
    """For each boot [boots], ln(speedup) there of the block size that is fastest on the others: logs [block sizes, boots]."""
    boots = range(logs.shape[1])
    chosen = [int(np.delete(logs, boot, axis=1).mean(axis=1).argmax()) for boot in boots]
    return [float(logs[chosen[boot], boot]) for boot in boots]


@fact("window.{content}.at_best.speedup_held_out", kind="ratio")
def speedup_held_out(read, content):
    """exp of the mean over boots of ln(plain / speculative time per token) at the block size chosen on the other boots; Student's t over the boots"""
    logs = held_out(by_boot(read, content))
    found = Paired.of(logs, spread([logs], aa_logs(read)))
    resampling = read.derivation.resampling
    alone = np.full(resampling.boots_shown, math.nan)
    alone[: len(logs)] = logs
    return Sample(np.exp(np.concatenate([[found.mean], alone, found.drawn(resampling.resamples)])))
