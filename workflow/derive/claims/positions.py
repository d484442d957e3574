"""Step latency against positions verified."""

from workflow.derive.claims.kinds import below, flat, within
from workflow.derive.facts.positions import shared
from workflow.derive.registry import claim
from workflow.derive.sample import least


def cite(read) -> None:
    read.cite(
        *(f"positions.{name}" for name in ("cells", "least", "most", "least_ms", "most_ms", "multiple", "growth", "floor_ms", "slope_ms")),
        *(f"positions.{name}" for name in ("off_line", "meetings", "apart")),
    )


@claim("positions.one_curve", kind="flat")
def one_curve(read):
    """Forwards over equal positions take the same time whatever window they are made of, within the bound."""
    cite(read)
    bound = read.threshold("positions.one_curve")
    return least([flat([read[f"{prefix}.verify_ms"] for prefix in group], bound) for group in shared(read)])


@claim("positions.linear", kind="bound", measure="relative gap")
def linear(read):
    """A floor and a slope describe the forward at each number of positions, within the bound."""
    cite(read)
    return within(read["positions.off_line"], read.threshold("positions.linear"))


@claim("positions.sublinear", kind="direction", says=("largest", "smallest"))
def sublinear(read):
    """A forward over the most positions costs fewer times the one over the fewest than it has times the positions."""
    cite(read)
    return below(read["positions.growth"], read["positions.multiple"])
