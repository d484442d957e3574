"""Whether something in the rows forbids a verdict on them."""

from workflow.derive.claims.kinds import counted
from workflow.derive.reefs import REEFS
from workflow.derive.registry import claim


@claim("reefs.nothing_blocks", kind="count", measure="detectors")
def nothing_blocks(read):
    """No detector that forbids a verdict fired on the campaign's rows."""
    read.cite("reefs.detectors", "reefs.fired", "reefs.warning", "reefs.note", "reefs.f1.name", "reefs.f1.said", "reefs.good_points")
    if read["reefs.good_points"].value == 0:
        read.unresolved("no point ended well, so there is nothing to look at")
    return counted(read["reefs.blocking"], 0)


@claim("reefs.{reef}.fired", kind="count", measure="rows", reef=tuple(one.name for one in REEFS))
def fired(read, reef):
    """This detector found its hazard in the campaign's rows."""
    found = read[f"reefs.{reef}.rows"]
    if found.value == 0 and read["reefs.good_points"].value == 0:
        read.unresolved("no point ended well, so there is nothing to look at")
    return found - 0.5
