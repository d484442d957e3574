"""Whether the report's numbers hang on the files."""

from workflow.derive.claims.kinds import counted
from workflow.derive.registry import claim


@claim("mutation.every_key_moves", kind="count", measure="keys")
def every_key_moves(read):
    """Every key that was put to the test moved with one of its sources."""
    read.cite("mutation.keys", "mutation.proven", "mutation.mutations", "mutation.score")
    if read.exact("mutation.keys").value == 0:
        read.unresolved("no key was put to the test")
    return counted(read["mutation.unproven"], 0)
