"""Where speculation falls behind plain decoding, and which arm serves the most at the largest concurrency."""

import math

import pytest

from tests.derive.edit import drop, scale
from workflow.derive import load
from workflow.derive.evaluate import Derivation

FILE = "sweep_concurrency.csv"


def slowed(folder, factors):
    """DSpark with so many times the duration at a concurrency."""
    for level, factor in factors.items():
        scale(folder, FILE, "duration_s", factor, lane="dspark", max_concurrency=level)
    return Derivation(load.load(folder))


def test_the_crossing_lies_on_a_line_between_the_levels_beside_it(scratch):
    derivation = slowed(scratch, {"1": 0.2, "4": 0.2, "16": 20.0})
    ahead, behind = (math.log(derivation.result(f"lanes.c{level}.ratio").fact.value) for level in (4, 16))
    assert ahead > 0 > behind
    found = derivation.result("lanes.crossing").fact
    assert found.value == pytest.approx(4 * (16 / 4) ** (ahead / (ahead - behind)))
    assert 4 < found.lo < found.value < found.hi < 16


def test_coming_back_is_no_crossing(scratch):
    derivation = slowed(scratch, {"1": 0.05, "4": 20.0, "16": 0.02})
    found = derivation.result("lanes.crossing").fact
    assert 1 < found.value < 4, "at sixteen speculation is ahead again"


def test_no_crossing_is_no_number(scratch):
    fact = slowed(scratch, dict.fromkeys(("1", "4", "16"), 0.01)).result("lanes.crossing").fact
    assert fact.missing and fact.reason.startswith("speculation does not go from ahead")


def test_a_boot_that_does_not_cross_leaves_no_interval(scratch):
    scale(scratch, FILE, "duration_s", 0.05, lane="dspark", max_concurrency="16", boot="0")
    scale(scratch, FILE, "duration_s", 50.0, lane="dspark", max_concurrency="16", boot="1")
    fact = slowed(scratch, {"1": 0.2, "4": 0.2}).result("lanes.crossing").fact
    assert 4 < fact.value < 16 and fact.lo is None and fact.hi is None


def told(derivation):
    return {what: derivation.result(f"lanes.best_at_most.{what}").fact.value for what in ("source", "arms", "arm", "output_throughput")}


def test_where_one_sweep_has_the_level_its_lanes_are_compared(derivation):
    """Sixteen requests in flight were measured by the concurrency sweep alone."""
    found = told(derivation)
    rates = {lane: derivation.result(f"lanes.c16.{lane}.output_throughput").fact.value for lane in ("plain", "dspark")}
    best = max(rates, key=rates.get)
    assert found == {"source": "concurrency", "arms": 2, "arm": best if best == "plain" else "dspark γ = 3", "output_throughput": rates[best]}


@pytest.mark.parametrize(("gone", "source", "arms"), [((), "batch", 4), (("batch",), "frontier", 3)])
def test_the_measurement_with_the_most_arms_decides(scratch, gone, source, arms):
    drop(scratch, "concurrency", lambda row: row["max_concurrency"] == "16")
    for family in gone:
        drop(scratch, family, lambda row: row["max_concurrency"] == "4")
    scale(scratch, "sweep_batch.csv", "duration_s", 0.01, label="dspark-g7", max_concurrency="4")
    scale(scratch, "search.csv", "output_throughput", 99.0, stage="frontier", lane="mtp", max_concurrency="4")
    derivation = Derivation(load.load(scratch))
    found = told(derivation)
    assert (found["source"], found["arms"]) == (source, arms)
    key, arm = {"batch": ("batch.c4.g7", "dspark γ = 7"), "frontier": ("lanes.front.t2.mtp", "mtp")}[source]
    assert found["arm"] == arm and found["output_throughput"] == derivation.result(f"{key}.output_throughput").fact.value
