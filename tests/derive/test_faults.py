"""What an allocation that did not fit reports, and files that do not say it."""

import pytest

from tests.data.synthetic_stages import FAULT
from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.figures.plates import memory_wall

LANES = ("plain", "dspark")


def ran_out(derivation, lane):
    """Places of the tries of a lane that ran out of memory."""
    return [place for place in range(1, 9) if derivation.result(f"memory.{lane}.t{place}.outcome").fact.value == "ran-out"]


def test_each_try_that_ran_out_says_what_it_asked_for(derivation):
    for lane in LANES:
        places = ran_out(derivation, lane)
        assert places
        for place in range(1, 9):
            asked, free = (derivation.result(f"memory.{lane}.t{place}.{said}").fact for said in ("asked", "free_at_fault"))
            if place in places:
                assert (asked.value, free.value) == tuple(FAULT.values()) and asked.unit == "byte"
                assert {cell.column for cell in asked.source} >= {"oom_asked_bytes", "status"}
            else:
                assert asked.missing and free.missing


def test_the_one_shown_ran_out_at_the_smallest_share(scratch):
    def change(rows):
        failed = sorted((row for row in rows if row["stage"] == "memory" and row["lane"] == "plain" and row["status"] == "oom"), key=lambda row: float(row["mem_fraction_static"]))
        for place, row in enumerate(failed):
            row["oom_asked_bytes"] = str(1000 + place)
        assert len(failed) > 1
        return rows

    rewrite(scratch, "search.csv", change)
    assert Derivation(load.load(scratch)).result("memory.plain.fault.asked").fact.value == 1000


@pytest.mark.parametrize(("asked", "short", "verdict"), [("1048576", True, "holds"), ("9", False, "fails")])
def test_asking_for_less_than_was_free_is_counted(scratch, asked, short, verdict):
    rewrite(scratch, "search.csv", lambda rows: [row | {"oom_asked_bytes": asked} if row["status"] == "oom" else row for row in rows])
    derivation = Derivation(load.load(scratch))
    told = derivation.result("memory.faults.told").fact.value
    assert told == sum(len(ran_out(derivation, lane)) for lane in LANES)
    assert derivation.result("memory.faults.short").fact.value == (told if short else 0)
    assert derivation.claim("memory.fault_tells").verdict == verdict


def test_files_of_before_lack_the_columns_and_nothing_else(scratch, values):
    rewrite(scratch, "search.csv", lambda rows: rows, without=tuple(FAULT))
    older = Derivation(load.load(scratch)).values()
    assert older.claims["memory.fault_tells"].verdict == "missing"
    missing = {key for key, fact in older.facts.items() if key.startswith("memory.") and fact.missing and not values.facts[key].missing}
    assert {key.rpartition(".")[2] for key in missing} == {"asked", "free_at_fault", "told", "short"}
    assert memory_wall.table(older).columns == ("what", "fraction", "free", "outcome")
    assert memory_wall.table(values).columns == ("what", "fraction", "free", "outcome", "asked", "free_at_fault")
