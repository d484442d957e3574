"""Which arms nothing else is ahead of in throughput and in time, and whether that leaves a trade."""

import math

import pytest

from tests.derive.edit import drop, rewrite, scale
from workflow.derive import load
from workflow.derive.evaluate import Derivation


def scaled(folder, lane, throughput, time):
    """One lane of the frontier at all loads with its throughput and its times multiplied."""
    scale(folder, "search.csv", "output_throughput", throughput, stage="frontier", lane=lane)
    for column in ("mean_tpot_ms", "mean_ttft_ms"):
        scale(folder, "search.csv", column, time, stage="frontier", lane=lane)
    return Derivation(load.load(folder))


def arms(derivation, place, against="tpot"):
    return str(derivation.result(f"lanes.front.{place}.{against}.arms").fact.value).split(", ")


@pytest.mark.parametrize("against", ["tpot", "ttft"])
def test_who_is_ahead_in_both_is_alone(scratch, against):
    derivation = scaled(scratch, "mtp", 9.0, 0.1)
    assert arms(derivation, "fewest", against) == arms(derivation, "most", against) == ["mtp"]
    assert derivation.result(f"lanes.front.t1.{against}.lead").fact.value > 1
    assert derivation.claim(f"lanes.front_alone.{against}").verdict == "holds"


def test_more_throughput_for_more_time_is_a_trade(scratch):
    derivation = scaled(scratch, "plain", 9.0, 9.0)
    assert "plain" in arms(derivation, "t1") and len(arms(derivation, "t1")) > 1
    assert derivation.result("lanes.front.t1.tpot.lead").fact.value < 1
    assert derivation.claim("lanes.front_alone.tpot").verdict == "fails"


@pytest.mark.parametrize(("lane", "boots"), [("plain", 2), ("dspark", 1)])
def test_few_boots_leave_a_trade_open(scratch, lane, boots):
    """One arm is a boot or two short: whatever the others say, nothing is told."""
    kept = {str(6500 + repeat) for repeat in range(boots)}
    drop(scratch, "search", lambda row: (row["stage"], row["lane"]) == ("frontier", lane) and row["boot"] not in kept)
    claim = scaled(scratch, "plain", 9.0, 9.0).claim("lanes.front_alone.tpot")
    assert claim.verdict == "unresolved" and claim.reason.startswith("fewer than 3 boots of an arm")


def test_the_deciding_load_is_named(scratch):
    scale(scratch, "search.csv", "mean_tpot_ms", 9.0, stage="frontier", lane="plain", max_concurrency="4")
    scale(scratch, "search.csv", "output_throughput", 9.0, stage="frontier", lane="plain", max_concurrency="4")
    assert Derivation(load.load(scratch)).result("lanes.front.tpot.tightest").fact.value == 4


def test_what_the_noise_does_not_tell_apart_stays_in_front(scratch):
    """A lane with the cells of another, all but a hair."""
    columns = ("mean_tpot_ms", "mean_ttft_ms", "output_throughput")

    def as_dspark(rows):
        front = [row for row in rows if row["stage"] == "frontier"]
        theirs = {(row["boot"], row["max_concurrency"]): row for row in front if row["lane"] == "dspark"}
        for row in front:
            if row["lane"] == "mtp":
                row |= {name: repr(float(theirs[row["boot"], row["max_concurrency"]][name]) * 1.0001) for name in columns}
        return rows

    rewrite(scratch, "search.csv", as_dspark)
    front = arms(Derivation(load.load(scratch)), "t1")
    assert "mtp" in front and any(name.startswith("dspark") for name in front)


def test_ends_are_the_first_and_the_last_load(derivation):
    found = {place: derivation.result(f"lanes.front.{place}.concurrency").fact.value for place in ("t1", "t2", "fewest", "most")}
    assert found == {"t1": 1, "t2": 4, "fewest": 1, "most": 4}
    assert derivation.result("lanes.front.loads").fact.value == 2 and derivation.result("lanes.front.t3.concurrency").fact.missing


def test_each_lane_stands_where_its_boots_say(derivation, measured):
    table = measured.find("points", "search")
    for place, level in ((1, "1"), (2, "4")):
        for lane in ("plain", "dspark", "mtp"):
            rows = table.select({"stage": "frontier", "lane": lane, "max_concurrency": level, "status": "ok"})
            assert len(rows) == 3
            for measure, column in (("output_throughput", "output_throughput"), ("tpot_ms", "mean_tpot_ms"), ("ttft_ms", "mean_ttft_ms")):
                logs = [math.log(table.numbers(column)[row]) for row in rows]
                found = derivation.result(f"lanes.front.t{place}.{lane}.{measure}").fact
                assert found.value == pytest.approx(math.exp(sum(logs) / 3)) and found.n == 3 and found.lo < found.value < found.hi
        assert derivation.result(f"lanes.front.t{place}.lookup.tpot_ms").fact.missing
        assert derivation.result(f"lanes.front.t{place}.plain.arm").fact.value == "plain"


@pytest.mark.parametrize(("factor", "gamma"), [(0.5, "3"), (2.0, "6")])
def test_of_two_block_sizes_the_one_that_serves_more_speaks_for_its_lane(scratch, factor, gamma):
    """DSpark went on with γ = 6 too, at so many times the throughput; a token of it takes a tenth of the time either way."""

    def twice(rows):
        more = []
        for row in rows:
            if (row["stage"], row["label"], row["max_concurrency"]) == ("frontier", "dspark-g3", "4"):
                other = {"run_id": f"{row['run_id']}-6", "label": "dspark-g6", "block_size": "6"}
                other |= {"output_throughput": repr(factor * float(row["output_throughput"])), "mean_tpot_ms": repr(0.1 * float(row["mean_tpot_ms"]))}
                more.append(row | other)
        assert more
        return [*rows, *more]

    before = Derivation(load.load(scratch)).result("lanes.front.t2.dspark.tpot_ms").fact.value
    rewrite(scratch, "search.csv", twice)
    derivation = Derivation(load.load(scratch))
    assert derivation.result("lanes.front.t2.dspark.arm").fact.value == f"dspark γ = {gamma}"
    assert derivation.result("lanes.front.t1.dspark.arm").fact.value == "dspark γ = 3"
    assert derivation.result("lanes.front.t2.dspark.tpot_ms").fact.value == pytest.approx(before * (0.1 if gamma == "6" else 1.0))
