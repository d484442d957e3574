"""Whether a knob had anything to do, and whether it did it; and how often the search calls what is nothing."""

import math

from workflow.derive.facts.binding import KNOBS
from workflow.derive.registry import claim
from workflow.derive.sample import Sample

LEAST_P = 1e-12
"""Below, a p value says no more than that it is small."""


@claim("knobs.{knob}.could_bind", kind="count", measure="regimes", knob=KNOBS)
def could_bind(read, knob):
    """In some regime that was tried the mechanism of this knob had something to do."""
    tried, binding, inert = (read.exact(f"knobs.{knob}.{count}") for count in ("regimes", "binding", "inert"))
    if binding.value == 0 and inert.value < tried.value:
        read.unresolved("the rows do not tell whether the mechanism had anything to do")
    return binding - 0.5


@claim("knobs.{knob}.moves", kind="bound", measure="ln of the level over p", knob=KNOBS)
def moves(read, knob):
    """Where its mechanism had something to do, some setting of this knob moves the throughput; it fails where it had nothing to do anywhere."""
    read.cite(f"knobs.{knob}.binding", f"knobs.{knob}.detectable")
    tried, _, inert = (read.exact(f"knobs.{knob}.{count}") for count in ("regimes", "binding", "inert"))
    if inert.value == tried.value:
        return Sample(-1.0)
    margin = math.log((1 - read.derivation.level) / max(LEAST_P, read.exact(f"knobs.{knob}.p").value))
    if margin <= 0:
        read.unresolved("the margin is inside the noise")
    return Sample(margin)


@claim("method.false_alarms", kind="bound", measure="share")
def false_alarms(read):
    """Comparisons of the base with itself are called a difference no more often than the level of the intervals allows."""
    read.cite("alarms.comparisons", "alarms.pairs", "resolvable.window.planned", "resolvable.window.achieved")
    rate, lo, hi = (read.exact(f"alarms.{end}").to("").value for end in ("rate", "lo", "hi"))
    margin = 1 - read.derivation.level - rate
    return Sample(margin), hi - rate if margin > 0 else rate - lo
