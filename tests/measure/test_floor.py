"""What A/A pairs say: what can be resolved, and when a cell is measured again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from engine import csvio, search, sweep
from engine.bench.floor import LEAST, MOST, Floor, achieved, measured_floor, probe_move
from tests.measure.conftest import SIZES


def point(boot: int, label: str, tpot: float, stage: str = "isl", **more) -> dict:
    lane = "plain" if label == "plain" else "dspark"
    return {"stage": stage, "status": "ok", "boot": boot, "label": label, "lane": lane, "mean_tpot_ms": tpot, "isl": 64, **more}


def test_the_tolerance_is_the_floor_between_two_bounds() -> None:
    assert Floor((0.001,), ()).tolerance == LEAST
    assert Floor((-0.08, 0.01), (0.02,)).tolerance == pytest.approx(math.expm1(0.08))
    assert Floor((0.01,), (0.02,) * 18 + (0.07, 0.9)).tolerance == pytest.approx(0.07), "one wild probe does not widen it"
    assert Floor((0.9,), ()).tolerance == MOST


def test_a_probe_s_move_is_relative_and_absent_without_probes() -> None:
    row = {"probe_copy_before_ms": 10.0, "probe_copy_after_ms": 11.0, "probe_compute_before_ms": 5.0, "probe_compute_after_ms": 5.0}
    assert probe_move(row) == pytest.approx(0.1) and probe_move({}) is None


def test_no_pairs_no_floor(tmp_path: Path) -> None:
    assert Floor.of([point(0, "base-a", 4.0, "aa")]) is None
    assert measured_floor([tmp_path], "here", 1) is None
    (tmp_path / "search.csv").write_text("not,points\n1,2\n")
    assert measured_floor([tmp_path], "here", 1) is None


@pytest.mark.usefixtures("fake_engine")
def test_the_floor_is_that_of_this_machine_with_as_many_threads(campaign, tmp_path: Path) -> None:
    """Two threads differ from each other otherwise than one: never mixed in a comparison."""
    assert search.main(["--campaign", str(campaign()), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    (host,) = {row["host"] for row in csvio.read("points", tmp_path / "out" / "search.csv")}
    found = [measured_floor([tmp_path / "out"], *asked) for asked in ((host, 1), (host, 2), ("another", 1))]
    assert [one is not None for one in found] == [True, False, False] and len(found[0][0].log_ratios) == SIZES["search"]["aa_pairs"]


def test_what_was_achieved_follows_the_spread_of_paired_repeats() -> None:
    def rows(jitter: float) -> list[dict]:
        return [point(boot, label, value * (1 + boot) * (1 + jitter * (boot == 1) * (label != "plain")))
                for boot in range(3) for label, value in (("plain", 5.0), ("dspark-g3", 4.0))]

    still, moving = achieved(rows(0.001)), achieved(rows(0.05))
    assert still[1] == moving[1] == 3 and 1 < still[0] < 1.01 < moving[0], "a slower machine hits both arms of a block and cancels"
    assert achieved([row for row in rows(0.05) if row["boot"] == 0]) is None


@pytest.mark.usefixtures("fake_engine")
def test_a_sweep_declares_before_and_says_after(campaign, tmp_path: Path) -> None:
    path, out = campaign(), tmp_path / "out"
    common = ["--campaign", str(path), "--out", str(out), "--quiet"]
    assert sweep.main(["--sweep", "isl", *common]) == 0
    about = json.loads((out / "sweep_isl.manifest.json").read_text("utf8"))["detectable"]
    assert about["planned"] is None and about["achieved"] >= 1 and about["repeats"] == 2
    assert search.main(common) == 0
    found = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert set(found["achieved_detectable"]) == set(found["planned_detectable"]) and LEAST <= found["probe_tolerance"] <= MOST
    assert sweep.main(["--sweep", "isl", *common]) == 0
    about = json.loads((out / "sweep_isl.manifest.json").read_text("utf8"))["detectable"]
    assert about["planned"] >= 1 and about["probe_tolerance"] == pytest.approx(found["probe_tolerance"])


def test_loads_that_differ_in_their_arrivals_are_not_repeats_of_one_another() -> None:
    """The lane gains a tenth at one rate and loses a tenth at the other, in every repeat alike: no spread at all."""
    rows = [point(boot, "plain", 10.0, "rate", request_rate=rate) for boot in range(3) for rate in (5, "inf")]
    rows += [point(boot, "dspark-g3", 10.0 * (0.9 if rate == 5 else 1.1), "rate", request_rate=rate) for boot in range(3) for rate in (5, "inf")]
    ratio, boots = achieved(rows)
    assert ratio == pytest.approx(1.0) and boots == 3
