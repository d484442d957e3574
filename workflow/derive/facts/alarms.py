"""What the search says of itself: how often it calls a difference where there is none, and how small a one it could have told."""

from workflow.derive.registry import fact
from workflow.derive.sample import Sample

STAGES = ("window", "confirm", "knobs", "cache", "factorial", "heads", "lanes", "curve")


@fact("alarms.{end}", kind="percent", unit="percent", end=("rate", "lo", "hi"))
def rate(read, end):
    """relabelled A/A comparisons that were judged better or worse / all of them, or an end of the interval of that share, over the pairs of boots"""
    return Sample(read.manifest(f"search.false_alarm.{end}", "search"))


@fact("alarms.{what}", kind="count", what=("comparisons", "pairs"))
def counts(read, what):
    """relabelled A/A comparisons, which overlap, or the pairs of boots that they are made of"""
    return read.manifest(f"search.false_alarm.{what}", "search")


@fact("resolvable.{stage}.{when}", kind="percent", unit="percent", stage=STAGES, when=("planned", "achieved"))
def resolvable(read, stage, when):
    """smallest relative difference that a stage resolves four times in five: from the A/A spread before it ran, from its own spread afterwards"""
    return Sample(read.manifest(f"search.{when}_detectable.{stage}", "search") - 1)
