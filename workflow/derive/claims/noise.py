"""The instrument."""

from workflow.derive.claims.kinds import below
from workflow.derive.registry import claim


@claim("noise.small", kind="bound")
def small(read):
    """Two boots of one configuration differ by less than the bound, on every timed metric."""
    read.cite("noise.typical", "noise.comparisons", "noise.boots", "noise.accept_length")
    margin = below(read["noise.floor"], read.threshold("noise.small"))
    read.enough_comparisons()
    return margin
