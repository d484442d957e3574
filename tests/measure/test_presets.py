"""Which stages a preset measures, how long the presets take, and a stage with threads of its own."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from engine import gate, search, sweep
from engine.bench import campaign as campaigns
from engine.bench import plans
from engine.bench.estimate import total_s
from engine.bench.stages import SWEEPS
from engine.search import planned
from tests.measure.conftest import ROOT, SIZES
from workflow.plan import Plan

LOCAL = ROOT / "workflow/campaigns/local/campaign.yaml"
ONLY_FULL = {"osl", "content", "acceptance", "batch"}


def test_the_four_wide_sweeps_belong_to_full() -> None:
    quick, full = ({stage.name for stage in Plan(("local",), "local", preset=preset).stages("local")} for preset in ("quick", "full"))
    assert full - quick == ONLY_FULL and {"search", "window", "gate"} <= quick
    assert full >= set(SWEEPS), "an hour's campaign leaves no sweep out"


def test_full_is_an_hour_at_most(capsys: pytest.CaptureFixture[str]) -> None:
    campaign = campaigns.load(LOCAL, "full")
    seconds = sum(total_s(blocks) for blocks in planned(campaign.stage("search")).values())
    seconds += sum(total_s(plans.blocks_of(name, campaign.stage(name))) for name in SWEEPS if name != "verify_cost")
    assert 10 * 60 < seconds < 55 * 60
    assert gate.main(["--campaign", str(LOCAL), "--preset", "full", "--dry-run"]) == 0
    assert "preset full" in capsys.readouterr().out


@pytest.mark.usefixtures("fake_engine")
def test_a_stage_with_its_own_threads_records_them_in_every_row(campaign, tmp_path: Path) -> None:
    path = campaign(stages={"isl": {**SIZES["isl"], "threads": 2, "presets": ["full"]}, "concurrency": SIZES["concurrency"]})
    for name, threads in (("isl", "2"), ("concurrency", "1")):
        assert sweep.main(["--sweep", name, "--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
        with (tmp_path / f"sweep_{name}.csv").open() as file:
            assert {row["threads"] for row in csv.DictReader(file)} == {threads}


@pytest.mark.parametrize("fault", [{"threads": 0}, {"presets": []}, {"presets": ["slow"]}])
def test_a_stage_key_out_of_range_is_one_line(campaign, fault: dict, capsys: pytest.CaptureFixture[str]) -> None:
    assert search.main(["--campaign", str(campaign(stages={"search": {**SIZES["search"], **fault}})), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"measure.stages.search.{next(iter(fault))}" in said
