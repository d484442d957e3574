"""Stages that a campaign listed and its backend could not do: their files have no row, and their manifests say why."""

from workflow.derive.facts.run import all_points, measured
from workflow.derive.load import file_name
from workflow.derive.registry import fact
from workflow.derive.rows import Missing

STAGES = {"verify_cost": ("verify_cost",), "gate": ("gate",), "kernels": ("kernels", "predicates"), "trace": ("trace",)}
"""Stage -> kinds of its files. The rows of every other stage are points, which say in `status` and `note` what was skipped."""


@fact("skipped.{stage}", kind="count", stage=tuple(STAGES))
def files(read, stage):
    """files of that stage without a row whose manifest gives the reason"""
    tables = [table for kind in STAGES[stage] if (table := read.campaign.find(kind, stage)) is not None]
    if not tables:
        raise Missing(f"{file_name(STAGES[stage][0], stage)} is not part of this campaign")
    empty = [table.file for table in tables if not len(table) and read.campaign.manifests[table.file].get("notes")]
    return sum(bool(read.field(file, "notes")) for file in empty)


@fact("skipped.arms", kind="count")
def arms(read):
    """points that were not tried because the backend has no flag for what they ask, or earlier boots of theirs died; over all commands"""
    return sum(all_points(read, family).texts("status").count("skipped") for family in measured(read))
