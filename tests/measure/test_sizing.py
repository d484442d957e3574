"""Cells that aim at a number of rounds get the prompts that it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine import csvio, sweep
from engine.bench import plans, sizing
from engine.bench.campaign import load
from engine.bench.cells import Cell, dspark
from engine.bench.stages import Acceptance
from engine.bench.workloads import Workload, growing

STAGE = {"temperatures": [0.0], "contents": ["arith", "code"], "isl": 16, "osl": 6, "max_concurrency": 1, "repeats": 1}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("aim", "reached"), [(4, True), (12, True), (500, False)])
def test_prompts_are_added_until_the_rounds_are_there(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aim: int, reached: bool) -> None:
    """A plan that assumed one prompt: the row has the rounds, or says how many it has with the most prompts it may ask."""
    monkeypatch.setattr(plans, "acceptance_prompts", lambda stage, rounds: 1)
    path = campaign(stages={"acceptance": {**STAGE, "rounds": [aim]}})
    assert sweep.main(["--sweep", "acceptance", "--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
    rows = [one for one in csvio.read("points", tmp_path / "sweep_acceptance.csv") if one["stage"] == "acceptance"]
    requests = csvio.read("requests", tmp_path / "requests_acceptance.csv")
    assert len(rows) == len(STAGE["contents"])
    for row in rows:
        own = [one for one in requests if one["run_id"] == row["run_id"]]
        assert len(own) == len({one["prompt_id"] for one in own}) == row["num_prompts"] == row["completed"] > 1
        assert sum(one["rounds"] for one in own) == row["rounds"]
        assert (row["rounds"] >= aim) == reached
        if not reached:
            assert row["num_prompts"] == sizing.MOST_TIMES and row["note"] == f"{row['rounds']} of {aim} rounds with {row['num_prompts']} prompts"


@pytest.mark.usefixtures("fake_engine")
def test_temperatures_that_grow_unequally_share_their_prompts_and_repeats_share_none(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hotter cells are asked for three times as many prompts: a cooler one's are the first of them, and each repeat has its own."""
    monkeypatch.setattr(plans, "acceptance_prompts", lambda stage, rounds: 3)
    more = {0.0: (4, 7), 1.0: (9, 20)}

    def grows(cell: Cell, rounds: int | None, planned: int, places: int) -> int | None:
        return next((count for count in more[cell.sampling.temperature] if count > cell.workload.num_prompts), None)

    monkeypatch.setattr(sizing, "more_prompts", grows)
    path = campaign(stages={"acceptance": {**STAGE, "temperatures": [0.0, 1.0], "rounds": [48], "repeats": 2}})
    assert sweep.main(["--sweep", "acceptance", "--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
    asked: dict[str, list[str]] = {}
    for row in csvio.read("requests", tmp_path / "requests_acceptance.csv"):
        asked.setdefault(row["run_id"], []).append(row["prompt_id"])
    rows = [one for one in csvio.read("points", tmp_path / "sweep_acceptance.csv") if one["stage"] == "acceptance"]
    found = {(row["content"], row["repeat"], row["temperature"]): asked[row["run_id"]] for row in rows}
    assert {key[2]: len(ids) for key, ids in found.items()} == {0.0: 7, 1.0: 20}
    for content in STAGE["contents"]:
        for repeat in (0, 1):
            assert found[content, repeat, 1.0][:7] == found[content, repeat, 0.0]
        assert not {*found[content, 0, 1.0]} & {*found[content, 1, 1.0]}


def test_a_set_that_grew_as_far_as_it_can_has_every_place_once_and_begins_as_one_that_did_not() -> None:
    for planned, repeats, places in ((3, 2, 40), (21, 2, 43), (5, 4, 12), (1, 1, 1)):
        load = Workload("acceptance", "code", planned, 32, planned=planned, repeats=repeats)
        orders = [growing(load, places, repeat) for repeat in range(repeats)]
        assert all(sorted(order) == list(range(places)) for order in orders)
        assert all(order[:planned] == [(repeat * planned + i) % places for i in range(planned)] for repeat, order in enumerate(orders))
        each = places // repeats if planned * repeats <= places else 0
        assert len({number for order in orders for number in order[:each]}) == each * repeats, "disjoint until they run out"


def test_a_whole_temperature_is_a_fraction(campaign) -> None:
    stages = load(campaign(stages={"acceptance": {"temperatures": [0, 1]}, "gate": {"temperature": 1, "top_p": 1}})).stages
    found = (*stages["acceptance"].temperatures, stages["gate"].temperature, stages["gate"].top_p)
    assert found == (0, 1, 1, 1) and {type(one) for one in found} == {float}


def test_what_is_known_decides() -> None:
    cell = Cell("acceptance", dspark(3), Workload("acceptance", "arith", 4, 32), 32, 48, 1, 0, rounds=100)
    assert sizing.more_prompts(cell, 40, 4, 400) == 11 and sizing.more_prompts(cell, 100, 4, 400) is None
    assert sizing.more_prompts(cell, 1, 4, 400) == 4 * sizing.MOST_TIMES and sizing.more_prompts(cell, 1, 4, 9) == 9
    assert sizing.more_prompts(cell, 1, 4, 4) is None and sizing.more_prompts(replace(cell, rounds=0), 1, 4, 400) is None
    assert sizing.rounds_of({"requests": [{"rounds": 2}, {"rounds": None}]}) is None and sizing.more_prompts(cell, None, 4, 400) is None
    assert {cell.rounds for block in plans.acceptance(Acceptance()) for cell in block.cells} == set(Acceptance().rounds)
