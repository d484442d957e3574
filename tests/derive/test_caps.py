"""Request caps side by side: pairs of one boot, a default that was not among them, pools that follow the cap."""

import math

import pytest

from tests.derive.edit import drop, rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation


def told(folder, **cells):
    """The cells of the factorial, told otherwise."""
    rewrite(folder, "search.csv", lambda rows: [row | cells if row["stage"] == "factorial" else row for row in rows])
    return Derivation(load.load(folder))


def test_caps_are_compared_within_a_boot(derivation, measured):
    table = measured.find("points", "search")
    rates: dict[str, dict[str, float]] = {}
    for i in table.select({"stage": "factorial", "status": "ok"}):
        rates.setdefault(table.columns["boot"][i], {})[table.columns["effective_max_running_requests"][i]] = table.numbers("output_throughput")[i]
    for place, cap in enumerate(("2", "4"), start=1):
        logs = [math.log(of["48"] / of[cap]) for of in rates.values()]
        assert len(logs) == 2
        assert derivation.result(f"walls.cap.t{place}.ratio").fact.value == pytest.approx(math.exp(sum(logs) / len(logs)))
    assert derivation.result("walls.cap.t3.ratio").fact.missing, "the default has no ratio to itself"


def test_the_interval_shown_is_the_one_that_is_judged(derivation):
    fact = derivation.result("walls.cap.t1.ratio").fact
    off = math.log1p(derivation.result("walls.cap.detectable").fact.value / 100)
    assert (math.log(fact.lo), math.log(fact.hi)) == pytest.approx((math.log(fact.value) - off, math.log(fact.value) + off), rel=0.01)


def test_the_rival_is_the_cap_under_which_most_is_served(derivation):
    ratios = [derivation.result(f"walls.cap.t{place}.ratio").fact.value for place in (1, 2)]
    assert derivation.result("walls.cap.rival.ratio").fact.value == min(ratios)
    assert derivation.result("walls.cap.rival.cap").fact.value == (2, 4)[ratios.index(min(ratios))]


def test_a_default_beside_no_other_cap_has_no_verdict(scratch):
    rewrite(scratch, "search.csv", lambda rows: [row | {"effective_max_running_requests": "32"} if row["stage"] in ("window", "confirm") else row for row in rows])
    derivation = Derivation(load.load(scratch))
    claim = derivation.claim("walls.default_cap_best")
    assert claim.verdict == "missing" and "the default cap, 32, is not among" in claim.reason
    assert derivation.claim("walls.full_by_construction").verdict == "holds", "pools need no default"


def test_without_a_second_boot_and_a_pairs_nothing_bounds_the_ratio(scratch):
    drop(scratch, "search", lambda row: row["stage"] == "factorial" and row["boot"] != "4000")
    rewrite(scratch, "noise.csv", lambda rows: [row for row in rows if row["metric"] != "output_throughput"])
    claim = Derivation(load.load(scratch)).claim("walls.default_cap_best")
    assert claim.verdict == "unresolved" and claim.reason


@pytest.mark.parametrize(("cells", "full", "verdict"), [({}, 2, "holds"), ({"state_usage_max": "0.99"}, 0, "fails"), ({"state_slots": "48"}, 1, "fails")])
def test_a_pool_is_full_by_construction_where_it_follows_the_cap(scratch, cells, full, verdict):
    derivation = told(scratch, **cells)
    assert derivation.result("walls.cap.reached").fact.value == 2, "a cap above the load says nothing"
    assert derivation.result("walls.cap.full").fact.value == full
    assert derivation.claim("walls.full_by_construction").verdict == verdict
