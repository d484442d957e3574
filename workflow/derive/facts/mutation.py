"""How many of the report's numbers were proven to move when one of their sources does: read from the last mutation run."""

from workflow.derive.fact import Cell
from workflow.derive.load import MUTATION
from workflow.derive.registry import fact
from workflow.derive.rows import Missing


def result(read, field: str):
    """A field of the last mutation run, if it was run on these very files."""
    found = read.campaign.mutation
    if found is None:
        raise Missing("no mutation run of this campaign: soundings mutate")
    stale = [name for name, manifest in read.campaign.manifests.items() if found["sources"].get(name) != manifest["sha256"]]
    if stale:
        raise Missing(f"the last mutation run read another {stale[0]}: soundings mutate")
    read.record.cells[Cell(MUTATION, field, "")] = None
    return found[field]


@fact("mutation.{count}", kind="count", status="computed", count=("keys", "proven", "mutations"))
def count(read, count):
    """keys put to the test, keys that moved with one of their sources, and mutations tried"""
    return result(read, count)


@fact("mutation.unproven", kind="count", status="computed")
def unproven(read):
    """keys put to the test - keys that moved"""
    return read["mutation.keys"] - read["mutation.proven"]


@fact("mutation.score", kind="percent", unit="percent", status="computed")
def score(read):
    """keys proven / keys put to the test"""
    return read["mutation.proven"] / read["mutation.keys"]
