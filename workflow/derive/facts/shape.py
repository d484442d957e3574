"""The shape of the search: what each stage took, what was thrown away, and what trying the full grid would have taken."""

from __future__ import annotations

from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

STAGES = ("aa", "memory", "factorial", "knobs", "cache", "window", "heads", "lanes", "frontier", "curve", "confirm", "sentinel")


def spent(read, stage: str, what: str) -> float:
    return read.manifest(f"cost.by_stage.{stage}.{what}", "search")


@fact("shape.{stage}.minutes", kind="duration", unit="min", stage=STAGES)
def minutes(read, stage):
    """boots and cells of one stage of the search"""
    return Sample(spent(read, stage, "boot_s") + spent(read, stage, "cell_s"), "s")


@fact("shape.{stage}.{what}", kind="count", stage=STAGES, what=("boots", "cells"))
def counts(read, stage, what):
    """boots or cells of one stage of the search"""
    return spent(read, stage, what)


@fact("shape.thrown_away", kind="percent", unit="percent")
def thrown_away(read):
    """time of cells that a probe of the machine's speed rejected / duration of the search"""
    return Sample(read.manifest("search.ledger.thrown_away_s", "search"), "s") / Sample(read.manifest("cost.total_s", "search"), "s")


@fact("shape.rejected", kind="percent", unit="percent")
def rejected(read):
    """boots and cells of arms that lost or ran out of memory / duration of the search"""
    return Sample(read.manifest("search.ledger.rejected_s", "search"), "s") / Sample(read.manifest("cost.total_s", "search"), "s")


@fact("shape.{lost}_minutes", kind="duration", unit="min", lost=("rejected", "thrown_away"))
def lost_minutes(read, lost):
    """time of arms that lost or ran out of memory (rejected), or of cells that a probe rejected (thrown_away); within the time of the stages"""
    return Sample(read.manifest(f"search.ledger.{lost}_s", "search"), "s")


@fact("shape.grid_{what}", kind="count", what=("configurations", "loads"))
def grid(read, what):
    """size of the grid over every value that a stage tries"""
    return read.manifest(f"search.ledger.grid_{what}", "search")


@fact("shape.grid_minutes", kind="duration", unit="min", status="computed")
def grid_minutes(read):
    """configurations x (mean boot + loads x mean cell): a product, nobody ran it"""
    try:
        return Sample(read.manifest("search.ledger.grid_means_s", "search"), "s")
    except Missing:
        # a file of an older search
        return Sample(read.manifest("search.ledger.grid_s", "search"), "s")


@fact("shape.grid_ratio", kind="ratio", status="computed")
def grid_ratio(read):
    """computed time of the grid / duration of the search"""
    return read["shape.grid_minutes"] / read["search.minutes"]
