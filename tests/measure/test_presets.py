"""Which stages a preset measures, how long the presets take, and a stage with threads of its own."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from engine import gate, search, sweep
from engine.bench import campaign as campaigns
from engine.bench import plans
from engine.bench.estimate import total_s
from engine.bench.gate_stats import unseen
from engine.bench.stages import SWEEPS
from engine.search import planned
from tests.measure.conftest import ROOT, SIZES
from workflow.page import __main__ as page
from workflow.plan import Plan

LOCAL = ROOT / "workflow/campaigns/local/campaign.yaml"
ONLY_FULL = {"osl", "rate", "content", "acceptance", "batch", "capacity"}


def test_the_wide_sweeps_belong_to_full() -> None:
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


def estimate(program, words: list[str], capsys: pytest.CaptureFixture[str]) -> float:
    """Estimated minutes of one command."""
    assert program.main([*words, "--dry-run", "--json"]) == 0
    return json.loads(capsys.readouterr().out)["estimated_minutes"]


KERNELS_S = {"quick": 20, "full": 180}
"""What the compilers take, which has no dry run: measured, rounded up."""


@pytest.mark.parametrize(("preset", "least", "most"), [("quick", 4, 9.5), ("full", 25, 55)])
def test_a_preset_fits_its_time_with_room_for_repeated_cells(preset: str, least: float, most: float, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--campaign", str(LOCAL), "--preset", preset]
    spent = KERNELS_S[preset] / 60
    for stage in Plan(("local",), "local", preset=preset).stages("local"):
        if stage.name != "kernels":
            program, words = {"search": (search, []), "gate": (gate, [])}.get(stage.name, (sweep, ["--sweep", stage.name]))
            spent += estimate(program, [*words, *where], capsys)
    assert least < spent < most


def test_the_gate_of_quick_can_resolve_the_margins_it_declares() -> None:
    stage = campaigns.load(LOCAL, "quick").stage("gate")
    for problems, margin in ((stage.problems, stage.margin), (stage.sampled_problems, stage.sampled_margin)):
        assert unseen(problems) <= margin


def test_the_page_of_another_preset_has_that_preset_s_files(capsys: pytest.CaptureFixture[str]) -> None:
    """A site of --config preset=full shows rows that the configured preset does not measure; its links lead nowhere where the page does not know."""
    listed = {}
    for preset in ("quick", "full"):
        assert page.main(["--campaign", "local", "--preset", preset, "--list"]) == 0
        listed[preset] = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    missing = {f"sweep_{name}.csv" for name in ONLY_FULL}
    assert missing <= listed["full"] and not missing & listed["quick"]
    assert "--preset={PLAN.preset}" in (ROOT / "workflow/rules/site.smk").read_text("utf8")
