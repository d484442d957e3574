"""Why requests wait, by the scheduler's own counts."""

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.waits import CAUSES

COLUMNS = tuple(f"blocked_by_{cause}" for cause in CAUSES)


def test_each_lane_has_its_cause_and_its_share(derivation):
    found = {lane: [derivation.result(f"walls.{lane}.{what}").fact.value for what in ("queue_cause", "queue_share", "wall_share")] for lane in ("plain", "dspark")}
    assert found == {"plain": ["kv_pages", pytest.approx(80), pytest.approx(80)], "dspark": ["cap", pytest.approx(75), pytest.approx(100)]}


def test_steps_of_both_sweeps_count(derivation, scratch):
    was = derivation.result("walls.plain.waits").fact.value
    cells = {"blocked_by_prefill_budget": "7"}
    rewrite(scratch, "sweep_concurrency.csv", lambda rows: [row | cells if row["stage"] == "concurrency" and row["lane"] == "plain" else row for row in rows])
    campaign = load.load(scratch)
    rows = len(campaign.find("points", "concurrency").select({"stage": "concurrency", "lane": "plain", "status": "ok"}))
    assert Derivation(campaign).result("walls.plain.waits").fact.value == was + 7 * rows


def test_a_server_that_does_not_count_has_no_cause(scratch):
    for file in ("sweep_concurrency.csv", "sweep_rate.csv"):
        rewrite(scratch, file, lambda rows: rows, without=COLUMNS)
    derivation = Derivation(load.load(scratch))
    assert derivation.claim("walls.queue_cause").verdict == "missing"
    assert "has no column blocked_by_cap" in derivation.result("walls.plain.waits").fact.reason
    assert not derivation.result("walls.plain.kv").fact.missing


def test_where_nothing_waits_there_is_no_cause(scratch):
    rewrite(scratch, "sweep_rate.csv", lambda rows: [row | dict.fromkeys(COLUMNS, "0") for row in rows])
    derivation = Derivation(load.load(scratch))
    assert derivation.result("walls.dspark.waits").fact.value == 0
    assert derivation.result("walls.dspark.queue_cause").fact.reason == "no request of lane dspark waited in the sweeps that ran both lanes"
    assert derivation.claim("walls.queue_cause").verdict == "unresolved"
