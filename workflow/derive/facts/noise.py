"""What two runs of one configuration differ by (A/A), which no win may stay below."""

import numpy as np

from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

TIMED = ("mean_tpot_ms", "decode_throughput", "output_throughput", "step_ms")
"""Metrics of noise.csv that come off a clock; accept_length is a control that must not move at all."""


def relative(log_ratio: float) -> Sample:
    return Sample(np.expm1(abs(log_ratio)))


@fact("noise.floor", kind="percent", unit="percent")
def floor(read):
    """largest |ln(b / a)| over all A/A comparisons and timed metrics, as a relative difference"""
    return relative(np.abs(read.noise(metric=TIMED).read("log_ratio")).max())


@fact("noise.typical", kind="percent", unit="percent")
def typical(read):
    """median |ln(b / a)| of the time per token over the A/A comparisons, as a relative difference"""
    return relative(np.median(np.abs(read.noise(metric="mean_tpot_ms").read("log_ratio"))))


@fact("noise.accept_length", kind="percent", unit="percent")
def accept_length(read):
    """largest A/A difference of the accept length, a control: the same prompts decoded greedily"""
    return relative(np.abs(read.noise(metric="accept_length").read("log_ratio")).max())


@fact("noise.comparisons", kind="count")
def comparisons(read):
    """pairs of boots of one configuration"""
    return len(set(read.noise().texts("comparison")))


@fact("noise.boots", kind="count")
def boots(read):
    """distinct processes in the A/A comparisons"""
    rows = read.noise()
    return len({*rows.texts("boot_id_a"), *rows.texts("boot_id_b")})


@fact("noise.aa.{comparison}.ratio", kind="ratio")
def ratio(read, comparison):
    """time per token of the second boot over that of the first, one A/A comparison"""
    rows = read.noise(metric="mean_tpot_ms")
    order = sorted(set(rows.texts("comparison")), key=int)
    if comparison > len(order):
        raise Missing(f"{len(order)} comparisons of noise.csv have a time per token")
    one = read.noise(metric="mean_tpot_ms", comparison=order[comparison - 1])
    return one.sum("value_b") / one.sum("value_a")


@fact("ci.boots_least", kind="count")
def boots_least(read):
    """fewest boots behind an interval, over the sweeps and the confirmation of the search; below three it has no stated level"""
    stages = {family: family for family in ("window", "isl", "concurrency")} | {"search": "confirm"}
    found = []
    for family, stage in stages.items():
        table = read.campaign.find("points", family)
        if table is not None and stage in table.distinct("stage"):
            found.append(len(set(read.points(family, stage=stage).texts("boot"))))
    if not any(count > 1 for count in found):
        raise Missing("no sweep of this campaign was booted twice, so no clock has an interval")
    return min(count for count in found if count > 1)
