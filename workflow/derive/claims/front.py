"""Whether the choice of a lane is a trade between throughput and time."""

from workflow.derive.claims.kinds import above
from workflow.derive.facts.front import AGAINST, ENDS, PLACES
from workflow.derive.registry import claim
from workflow.derive.sample import least

LEAST_BOOTS = 3
"""Boots from which a lead over the nearest of several rivals is judged: on fewer, the least of several ratios drifts below one by noise alone."""


@claim("lanes.front_alone.{against}", kind="superlative", against=AGAINST)
def front_alone(read, against):
    """At each load one lane, at its own best block size, is ahead of every other in throughput and in time: no trade between the two is left."""
    read.cite("lanes.front.loads", f"lanes.front.{against}.tightest", *(f"lanes.front.{end}.{what}" for end in ENDS for what in ("concurrency", f"{against}.arms")))
    if read.exact("lanes.front.boots").value < LEAST_BOOTS:
        read.unresolved(
            f"fewer than {LEAST_BOOTS} boots of an arm: the nearest of several rivals is picked by its noise too, so a lead looks smaller than it is"
        )
    return least([above(read[key]) for key in read.present(f"lanes.front.t{place}.{against}.lead" for place in PLACES)])
