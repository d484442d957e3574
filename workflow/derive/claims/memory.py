"""The memory ceiling."""

from workflow.derive.claims.kinds import counted
from workflow.derive.facts.faults import SAID
from workflow.derive.registry import DECLARED, claim


def cite(read) -> None:
    read.cite("memory.device_bytes", "memory.tried", "memory.survived", "memory.ran_out", "memory.otherwise")
    read.cite(*(f"shape.memory.{name}" for name in ("boots", "cells", "minutes")))
    for lane in DECLARED["lane"]:
        names = ("anchor", "anchor_free", "anchor_peak", "floor", "floor_less_peak", "largest_survived", "smallest_ran_out")
        read.cite(*(f"memory.{lane}.{name}" for name in names))


@claim("memory.boot_proves_nothing", kind="count", measure="tries")
def boot_proves_nothing(read):
    """Some fraction booted and then ran out of memory under load. Fails where each fraction that was tried survived."""
    cite(read)
    if read.exact("memory.ran_out").value == 0 and read.exact("memory.otherwise").value:
        read.unresolved("some wave ended otherwise than by running out of memory")
    return read["memory.ran_out"].value - 0.5


@claim("memory.floor_overshoots", kind="count", measure="tries")
def floor_overshoots(read):
    """Some fraction that the static floor allows ran out of memory. Fails where none of those tried did."""
    cite(read)
    read.cite("memory.floor.tested", "memory.floor.agreed")
    if read.exact("memory.floor.tested").value == 0:
        read.unresolved("no fraction beyond the anchor was tried to its end")
    return read["memory.floor.let_down"].value - 0.5


@claim("memory.peak_predicts", kind="count", measure="tries")
def peak_predicts(read):
    """The floor less the activation peak lies within one grid step of where each fraction tried beyond the anchors put the ceiling."""
    cite(read)
    read.cite(*(f"memory.floor_less_peak.{name}" for name in ("agreed", "let_down", "steps_off")), "memory.step")
    if read.exact("memory.floor_less_peak.tested").value == 0:
        read.unresolved("no wave at an anchor ran to its end with another fraction tried beyond it")
    return 1.5 - read["memory.floor_less_peak.steps_off"].value


@claim("memory.fault_tells", kind="count", measure="tries")
def fault_tells(read):
    """Each allocation that failed had asked for more than was free when its failure was reported."""
    read.cite(*(f"memory.{lane}.fault.{said}" for lane in DECLARED["lane"] for said in SAID))
    told = round(read.exact("memory.faults.told").value)
    if not told:
        read.unresolved("no try ran out of memory")
    return counted(read["memory.faults.short"], told)
