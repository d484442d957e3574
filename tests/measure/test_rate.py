"""The open loop as a stage: the same requests and gaps at every rate, latencies from when a request was due."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from engine import csvio, sweep
from engine.bench import plans
from engine.bench.estimate import CostModel
from engine.bench.stages import FULL, Rate
from workflow.derive.load import load
from workflow.derive.reefs import findings

STAGE = {"rates": [200, 800, "inf"], "isl": 16, "osl": 6, "num_prompts": 8, "repeats": 2}


def test_every_rate_has_the_same_requests_and_no_cap_of_its_own() -> None:
    stage = Rate()
    blocks = plans.rate(stage)
    assert len(blocks) == stage.repeats
    for block in blocks:
        assert len({cell.workload for cell in block.cells}) == 1
        assert {cell.request_rate for cell in block.cells} == {5, 10, 20, math.inf}
        assert all(cell.max_concurrency == stage.num_prompts and cell.warmup_requests <= plans.RATE_WARMUP for cell in block.cells)


def test_an_open_loop_is_estimated_by_its_timetable() -> None:
    slow, fast = (plans.rate(Rate(rates=(rate,)))[0].cells[0] for rate in (2, "inf"))
    assert CostModel().cell_s(slow) >= 50 > CostModel().cell_s(fast)


def test_full_has_enough_requests_for_a_p99() -> None:
    assert FULL["rate"].num_prompts >= 100


@pytest.mark.usefixtures("fake_engine")
def test_rows_say_when_each_request_was_due_and_how_long_it_waited(campaign, tmp_path: Path) -> None:
    path, out = campaign(stages={"rate": STAGE}), tmp_path / "trial"
    assert sweep.main(["--sweep", "rate", "--campaign", str(path), "--out", str(out), "--quiet"]) == 0
    points = [row for row in csvio.read("points", out / "sweep_rate.csv") if row["stage"] == "rate"]
    requests = csvio.read("requests", out / "requests_rate.csv")
    assert len(points) == 2 * 2 * 3 and {row["request_rate"] for row in points} == {200, 800, "inf"}
    due: dict[tuple, list[float]] = {}
    for row in points:
        own = [one for one in requests if one["run_id"] == row["run_id"]]
        assert all(one["queued_s"] >= one["arrival_s"] - 1e-6 for one in own)
        assert row["client_lag_ms"] >= row["mean_client_queue_ms"] >= 0
        assert row["mean_scheduled_latency_ms"] == pytest.approx(row["mean_client_queue_ms"] + row["mean_e2e_ms"], rel=1e-3)
        assert row["mean_scheduled_ttft_ms"] == pytest.approx(row["mean_client_queue_ms"] + row["mean_ttft_ms"], rel=1e-3)
        due[row["repeat"], row["request_rate"], row["lane"]] = [one["arrival_s"] for one in own]
    for repeat in (0, 1):
        assert due[repeat, 200, "plain"] == pytest.approx(due[repeat, 200, "dspark"])
        assert due[repeat, 200, "plain"] == pytest.approx([4 * at for at in due[repeat, 800, "plain"]])
        assert set(due[repeat, "inf", "plain"]) == {0.0}
    assert due[0, 200, "plain"] != due[1, 200, "plain"]
    (out / "campaign.yaml").write_text("name: trial\nbackend: embedded\n")
    assert not {finding.reef for finding in findings(load(out))} & {"R3-client-queue", "R7-ramp", "R8-few-waves", "R8-few-prompts"}


@pytest.mark.parametrize("rates", [[], [0], [-3], ["fast"], [2.5], [4, 4]])
def test_a_rate_out_of_range_is_one_line(campaign, rates: list, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(stages={"rate": {**STAGE, "rates": rates}})
    assert sweep.main(["--sweep", "rate", "--campaign", str(path), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "measure.stages.rate.rates" in said


def test_dry_run(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep.main(["--sweep", "rate", "--campaign", str(campaign(stages={"rate": STAGE})), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["cells"] == 2 * 2 * 3 + 2 and plan["boots"] == 2 * 2 + 2
    assert any("at 200/s" in line for line in plan["plan"]) and any("at inf/s" in line for line in plan["plan"])
