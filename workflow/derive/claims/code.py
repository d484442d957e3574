"""The code that measured."""

from workflow.derive.claims.kinds import counted
from workflow.derive.registry import claim


@claim("code.current", kind="count", measure="commands")
def current(read):
    """Every row of the campaign was measured by the code in the working tree."""
    read.cite("code.measured", "code.unknown")
    other = read.exact("code.other")
    if other.value == 0 and read["code.unknown"].value:
        read.unresolved("a manifest does not name the code that measured")
    return counted(other, 0)
