"""Which of the measurements that the engine can make this campaign has: counted from its files, typed nowhere."""

from workflow.derive.registry import fact
from workflow.derive.rows import Missing

SWEEPS = ("window", "isl", "osl", "concurrency", "rate", "content", "acceptance", "batch", "capacity")
"""Sweeps with points of their own; a stage of the same name inside."""
SEARCHED = ("aa", "memory", "factorial", "knobs", "cache", "window", "heads", "lanes", "frontier", "curve", "confirm")
"""Stages of the search."""
FILES = {"verify_cost": "costs", "gate": "gate", "kernels": "kernels", "predicates": "predicates", "noise": "noise", "trace": "trace"}
"""Measurements whose rows are no points: name -> how they are read."""

ENDED = ("ok", "oom", "crash", "timeout", "skipped", "rejected")


def good(read, family: str, stage: str) -> int:
    """Points of a stage that ended well; Missing when the stage has none at all."""
    return sum(status == "ok" for status in read.points(family, stage=stage, status=ENDED).texts("status"))


@fact("measured.{sweep}", kind="count", sweep=SWEEPS)
def of_sweep(read, sweep):
    """points of the sweep that ended well"""
    return good(read, sweep, sweep)


@fact("measured.modes", kind="count")
def of_modes(read):
    """points of the comparison of execution modes that ended well"""
    return good(read, "window", "modes")


@fact("measured.search.{part}", kind="count", part=SEARCHED)
def of_search(read, part):
    """points of that stage of the search that ended well"""
    return good(read, "search", part)


@fact("measured.{file}", kind="count", file=tuple(FILES))
def of_file(read, file):
    """rows of that file"""
    rows = getattr(read, FILES[file])()
    if not len(rows):
        raise Missing(f"{rows.table.file} has no rows")
    return len(rows.texts(next(iter(rows.table.columns))))
