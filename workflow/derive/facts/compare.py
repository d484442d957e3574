"""Whether two quantities can be told apart: the A/A noise and the resampled interval, whichever is wider."""

from __future__ import annotations

import math

from workflow.derive.sample import Sample
from workflow.derive.stats import interval, reach


def floor_of(read) -> float:
    """ln(1 + A/A noise). Missing when the campaign has no A/A comparison."""
    return math.log1p(max(read["noise.floor"].to("").value, read.derivation.thresholds["least_noise"]))


def noise_of(read, ratio: Sample) -> float:
    """How far the logarithm of a ratio may be off: what its interval reaches towards even, at least the A/A noise. As in a verdict."""
    logarithm = ratio.log()
    drawn = interval(logarithm.values, read.derivation.level)
    return max([floor_of(read), *([reach(logarithm.value, drawn)] if drawn else [])])


def beyond_noise(read, ratio: Sample) -> int:
    """1 when the ratio is above one by more than the noise, -1 when below, else 0."""
    margin, noise = math.log(ratio.value), noise_of(read, ratio)
    return (margin > noise) - (margin < -noise)


def tied(read, keys) -> list[str]:
    """Keys whose value the noise does not tell from the largest, in the given order."""
    keys = read.present(keys)
    best = max(keys, key=lambda key: read[key].value)
    return [key for key in keys if key == best or beyond_noise(read, read[best] / read[key]) == 0]
