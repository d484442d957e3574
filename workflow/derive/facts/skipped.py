"""Stages that a campaign listed and its backend could not do: their files hold the reason, and no measured row."""

from workflow.derive.facts.run import all_points, measured
from workflow.derive.load import file_name
from workflow.derive.measuring import SERVERS
from workflow.derive.registry import fact
from workflow.derive.rows import Missing

STAGES = {"verify_cost": ("verify_cost",), "gate": ("gate",), "kernels": ("kernels", "predicates"), "trace": ("trace",)}
"""Stage -> kinds of its files. The rows of every other stage are points, which say in `status` and `note` what was skipped."""


@fact("skipped.{stage}", kind="count", stage=tuple(STAGES))
def files(read, stage):
    """files of that stage without a measured row that give the reason"""
    tables = [table for kind in STAGES[stage] if (table := read.campaign.find(kind, stage)) is not None]
    if not tables:
        raise Missing(f"{file_name(STAGES[stage][0], stage)} is not part of this campaign")
    empty = [table.file for table in tables if not len(table)]
    if not empty:
        raise Missing("does not apply to what this campaign measured")
    told = sum(bool(read.skipped(file)) for file in empty)
    if not told:
        raise Missing(f"{empty[0]} has no rows")
    return told


@fact("skipped.arms", kind="count")
def arms(read):
    """points of a server that were not tried because it has no flag for what they ask, or because boots of theirs had died; over all commands"""
    points = [all_points(read, family) for family in measured(read)]
    if not any(set(rows.texts("backend")) <= SERVERS for rows in points):
        raise Missing("does not apply to what this campaign measured")
    return sum(rows.texts("status").count("skipped") for rows in points)
