"""The gate judges what the search chose, says so, and runs alone where there was no search."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import csvio, gate, search
from engine.bench import gate_plan, gate_stats
from engine.bench.gate_winner import FILE, Winner, of_manifest, searched
from engine.bench.stages import Gate
from engine.config import LANES
from engine.machine import Machine
from tests.measure.conftest import SIZES
from tests.measure.test_gate import STAGES

HOST = Machine.read().host


def manifest(winner: str, host: str = HOST) -> dict:
    arms = [{"label": "plain", "lane": "plain", "block_size": None}, {"label": "dspark-g3", "lane": "dspark", "block_size": 3}]
    arms.append({"label": "dspark-g5", "lane": "dspark", "block_size": 5})
    section = {"winner": winner, "candidates": arms, "confirm": {"verdict": "better"}}
    stage = {"lane": "dspark", "block_size": 3}
    return {"machine": {"host": host}, "code": "abc", "config": stage, "search": {**section, "base": "dspark-g3"}}


@pytest.mark.parametrize("verdict", ["worse", "not resolved", None])
def test_without_fresh_boots_that_say_better_the_base_is_judged(verdict: str | None) -> None:
    """An older search named its candidate the winner whatever fresh boots said; a newer one names the base, which is no candidate."""
    older = manifest("dspark-g5")
    older["search"]["confirm"] = verdict and {"verdict": verdict}
    newer = manifest("dspark-g3")
    newer["search"] |= {"confirm": older["search"]["confirm"], "candidates": [one for one in newer["search"]["candidates"] if one["label"] != "dspark-g3"]}
    assert of_manifest(older) == of_manifest(newer) == Winner("dspark-g3", "dspark", 3, None, "abc")


@pytest.mark.parametrize(("winner", "more", "judged_as"), [("dspark-g5", ["dspark-g5"], "dspark-g5"), ("dspark-g3", [], "dspark-g3"), ("plain", [], "base")])
def test_the_winner_is_one_configuration_more_unless_it_is_one_already(winner: str, more: list[str], judged_as: str) -> None:
    found = of_manifest(manifest(winner))
    without, planned = gate_plan.configs(Gate()), gate_plan.configs(Gate(), found)
    assert [config.arm.label for config in planned if config not in without] == more
    assert gate_plan.label_of(found, planned) == judged_as
    assert planned[0].role == "base" and next(config for config in planned if config.role == "candidate").arm.label == "dspark-g3"


def test_a_search_of_another_machine_or_an_unreadable_one_is_none(tmp_path: Path) -> None:
    good, foreign, broken, empty = (tmp_path / name for name in ("good", "foreign", "broken", "empty"))
    for folder in (good, foreign, broken, empty):
        folder.mkdir()
    (good / FILE).write_text(json.dumps(manifest("dspark-g5")))
    (foreign / FILE).write_text(json.dumps(manifest("dspark-g5", "elsewhere")))
    (broken / FILE).write_text("{")
    (empty / FILE).write_text(json.dumps({**manifest("gone"), "search": {}}))
    assert searched((None, foreign, broken, empty, tmp_path / "absent"), HOST) is None
    assert searched((None, foreign, broken, good), HOST) == Winner("dspark-g5", "dspark", 5, "better", "abc")


ODD = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4), lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=3), one, max_size=2))
PLACES = [(), *((key,) for key in manifest("dspark-g5")), ("machine", "host"), *(("search", key) for key in manifest("dspark-g5")["search"])]
PLACES += [("search", "candidates", 2), *(("search", "candidates", 2, key) for key in ("label", "lane", "block_size")), ("search", "confirm", "verdict")]


@given(st.sampled_from(PLACES), ODD)
def test_a_manifest_of_any_shape_is_a_search_or_none(place: tuple, value: object) -> None:
    """Whatever stands at any place of the file, the gate gets an arm that it can boot, or no winner; never a traceback."""
    about = manifest("dspark-g5")
    if place:
        inside = functools.reduce(lambda one, key: one[key], place[:-1], about)
        inside[place[-1]] = value
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE).write_text(json.dumps(about if place else value), "utf8")
        found = searched((Path(folder),), HOST)
    assert found is None or (found.lane in LANES and (found.block_size is None) <= (found.lane == "plain"))


@pytest.mark.usefixtures("fake_engine")
def test_after_a_search_the_gate_judges_its_winner_and_rescoring_keeps_it(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stages = {**STAGES, "search": {**SIZES["search"], "block_sizes": [3, 5]}}
    path, out = campaign(stages=stages), tmp_path / "out"
    words = ["--campaign", str(path), "--out", str(out), "--quiet"]
    assert search.main(words) == 0
    about = json.loads((out / FILE).read_text("utf8"))
    # the stand-in's clock decides the winner: here it is the block size that the gate does not name
    about["search"] |= {"winner": "dspark-g5", "confirm": {"verdict": "better"}}
    (out / FILE).write_text(json.dumps(about), "utf8")
    assert gate.main([*words, "--dry-run", "--json"]) == 0
    assert "dspark-g5" in json.loads(capsys.readouterr().out.splitlines()[-1])["samples"]
    gate.main([*words, "--report-only"])
    found = json.loads((out / "gate.manifest.json").read_text("utf8"))["gate"]
    assert found["winner"]["config"] == found["winner"]["label"] == "dspark-g5" and found["configs"]["dspark-g5"]["role"] == "candidate"
    assert {row["block_size"] for row in csvio.read("gate", out / "gate.csv") if row["config"] == "dspark-g5"} == {5}
    again = tmp_path / "again"
    gate.main(["--campaign", str(path), "--out", str(again), "--rescore", str(out / "gate.csv"), "--report-only"])
    assert json.loads((again / "gate.manifest.json").read_text("utf8"))["gate"] == {**found, "rescored": True}


def test_controls_answer_the_first_problems_and_candidates_all_of_them() -> None:
    stage = Gate(control_problems=4)
    asked = [gate_plan.Question(gate_plan.GREEDY, f"p{i}", "?", 1, gate_plan.Sampling(), (0,), 8) for i in range(9)]
    for config in gate_plan.configs(stage):
        own = gate_plan.share_of(config, stage, asked)
        if gate_plan.GREEDY in config.tasks:
            assert own == (asked[:4] if config.role in ("control", "silent") else asked)


@pytest.mark.parametrize("margin", [0.01, 0.03, 0.06, 0.2])
def test_the_fewest_problems_that_can_resolve_a_margin(margin: float) -> None:
    needed = gate_stats.needed_for(margin)
    assert gate_stats.unseen(needed) <= margin < gate_stats.unseen(needed - 1)


def test_what_cannot_be_resolved_is_said_before_anything_runs(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(["--campaign", str(campaign(stages=STAGES)), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "greedy: 6 problems" in said and "so it stays open: 99 problems would resolve it" in said
    assert "no search of this machine beside it" in said
