"""What single settings take of memory and of room."""

from workflow.derive.claims.kinds import below
from workflow.derive.registry import claim


def cite(read) -> None:
    read.cite("knobs.room.budget", "knobs.room.base_left", "knobs.room.base_tokens", "knobs.room.tried", "knobs.room.farthest", "knobs.room.fewest", "knobs.room.detectable")


@claim("knobs.room.moves_headroom", kind="bound", measure="share of what the base leaves", says=("largest",))
def moves_headroom(read):
    """Some setting changes the memory left at the peak of the wave by more than the bound, a share of what the base leaves."""
    cite(read)
    moved, base, off = (read.exact(f"knobs.room.{name}") for name in ("farthest_headroom", "base_left", "detectable"))
    return (abs(moved) / base).to("") - read.threshold("knobs.room.moves_headroom").to(""), (off / base).to("").value


@claim("knobs.room.costs_tokens", kind="direction", says=("smallest",))
def costs_tokens(read):
    """The setting whose pools hold the fewest KV tokens holds fewer of them than the base."""
    cite(read)
    return below(read["knobs.room.fewest_tokens"].to("") + 1)
