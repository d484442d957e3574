"""What single settings take of memory and of room."""

from workflow.derive.registry import claim


def cite(read) -> None:
    read.cite(*(f"knobs.room.{name}" for name in ("budget", "isl", "base_left", "base_tokens", "fewest", "fewest_tokens", "farthest", "tried")))


@claim("knobs.room.costs_tokens", kind="count", measure="settings", says=("smallest",))
def costs_tokens(read):
    """Some setting leaves the pools fewer KV tokens than the base has."""
    cite(read)
    found = read.exact("knobs.room.takers").value
    if not found and read.exact("knobs.room.tried").value < read.exact("knobs.room.asked").value:
        read.unresolved("some setting that was asked for did not serve its wave")
    return read["knobs.room.takers"].value - 0.5


@claim("knobs.room.moves_headroom", kind="bound", measure="share of what the base leaves", says=("largest",))
def moves_headroom(read):
    """Some setting changes the memory left at the peak of the wave by more than the bound, a share of what the base leaves."""
    cite(read)
    moved, base, off = (read.exact(f"knobs.room.{name}") for name in ("farthest_headroom", "base_left", "detectable"))
    return (abs(moved) / base).to("") - read.threshold("knobs.room.moves_headroom").to(""), (off / base).to("").value
