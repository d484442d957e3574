"""The concurrency sweep segment by segment: what going on to its next concurrency adds to a step, in tokens and in time."""

import math

from workflow.derive.facts.lanes import levels
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing

PLACES = tuple(range(1, len(DECLARED["concurrency"])))
"""Segments from the smallest concurrency up, as many as the usual sweep has."""
GAINS = {"tokens_gain": "tokens_per_step", "step_gain": "step_ms"}


def ends(read, place: int) -> tuple[int, int]:
    """The two neighbouring concurrencies, both measured in both lanes."""
    found = levels(read)
    if place >= len(found):
        raise Missing(f"{len(found)} concurrencies were measured")
    return found[place - 1], found[place]


@fact("scale.s{place}.{end}", kind="count", place=PLACES, end=("from", "to"))
def end_of(read, place, end):
    """concurrency at that end of a segment"""
    level = ends(read, place)[end == "to"]
    return read.points("concurrency", max_concurrency=level).whole("max_concurrency", "cells of one concurrency")


@fact("scale.s{place}.waves", kind="count", place=PLACES)
def waves(read, place):
    """requests of a cell at the segment's upper end / its concurrency, rounded up: how many times the batch fills, the last time perhaps in part"""
    upper = ends(read, place)[1]
    prompts = read.points("concurrency", lane="plain", max_concurrency=upper).read("num_prompts")
    return math.ceil(prompts.min() / upper)


@fact("scale.s{place}.{lane}.{what}", kind="ratio", place=PLACES, what=tuple(GAINS))
def gain(read, place, lane, what):
    """the value at the segment's upper end / at its lower: tokens_gain of the tokens a decode step gives, step_gain of the time that it takes"""
    lower, upper = (read[f"scale.{lane}.c{level}.{GAINS[what]}"] for level in ends(read, place))
    return upper / lower
