"""The search command on the stand-in engine, and its judgement on rows made for the purpose."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from engine import csvio, search
from engine.bench import plans, verdicts
from engine.bench.cells import dspark
from engine.bench.compare import Comparison
from engine.bench.stages import Search
from tests.measure.conftest import SIZES


def cell_rows(stage: Search, tpot: dict[str, float], noise: float = 0.0) -> list[dict]:
    """A points row for every window cell: the label's TPOT, drifting by two percent a cell, with noise of that deviation."""
    draw = random.Random(2)
    rows, order = [], 0
    for block in plans.search_window(stage):
        for cell in block.cells:
            value = tpot[cell.arm.label] * math.exp(0.02 * order + draw.gauss(0.0, noise))
            rows.append(
                {
                    "stage": "window",
                    "label": cell.arm.label,
                    "boot": block.number,
                    "order": order,
                    "status": "ok",
                    "mean_tpot_ms": value,
                    "decode_throughput": 1000 / value,
                }
            )
            order += 1
    return rows


STAGE = Search(block_sizes=(1, 2, 3, 5), window_repeats=3)
TPOT = {"base": 4.0, "plain": 5.0, "dspark-g1": 4.4, "dspark-g2": 3.6, "dspark-g5": 4.02}


def test_candidates_are_judged_in_time_per_token() -> None:
    found, spread = search.judge(cell_rows(STAGE, TPOT, 0.005), STAGE, [0.002, -0.003, 0.002, -0.001])
    by_label = {verdict.arm.label: verdict for verdict in found}
    assert {label: verdict.comparison.verdict for label, verdict in by_label.items()} == {
        "plain": "worse",
        "dspark-g1": "worse",
        "dspark-g2": "better",
        "dspark-g5": "not resolved",
    }
    assert by_label["dspark-g2"].comparison.ratio == pytest.approx(4.0 / 3.6, rel=0.02)
    assert by_label["dspark-g2"].throughput_ratio == pytest.approx(4.0 / 3.6, rel=0.02)
    assert spread.df == 4 * 2, "candidates with candidates, not with the base's ratio to itself"


def test_a_steady_drift_cancels() -> None:
    for label, values in verdicts.against_base(cell_rows(STAGE, TPOT)).items():
        assert values == pytest.approx([math.log(4.0 / TPOT[label])] * 3, abs=1e-9)


def test_a_candidate_that_never_finished_has_no_verdict() -> None:
    rows = [row | {"status": "crash"} if row["label"] == "plain" else row for row in cell_rows(STAGE, TPOT)]
    found, _ = search.judge(rows, STAGE, [0.0, 0.01])
    assert "plain" not in {verdict.arm.label for verdict in found}


def said(label: str, ratio: float, verdict: str) -> search.Verdict:
    return search.Verdict(dspark(int(label[-1]), label), Comparison(4, ratio, ratio, ratio, None, None, 1.1, verdict, 0.5), ratio)


def test_what_lost_to_the_base_is_not_put_to_the_test() -> None:
    slow, even, fast = said("dspark-g1", 0.8, "worse"), said("dspark-g2", 0.99, "not resolved"), said("dspark-g6", 1.1, "better")
    assert search.challenger([slow, even, fast]) is fast and search.challenger([slow, even]) is even
    assert search.challenger([slow]) is None and search.challenger([]) is None


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize("verdict", ["better", "not resolved", "worse", None])
def test_the_winner_is_the_candidate_only_where_fresh_boots_say_so(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str | None) -> None:
    """Whatever the window said: the curve is measured with what is named, and the candidate stands apart with both verdicts."""
    picked, fresh = said("dspark-g1", 1.3, "better"), said("dspark-g1", 1.1, verdict or "")
    monkeypatch.setattr(search, "judge", lambda points, stage, aa: ([picked], search.Spread(0.01, 8)))
    monkeypatch.setattr(search, "confirm", lambda points, candidate, aa: fresh if verdict else None)
    path = campaign(stages={"search": {**SIZES["search"], "curve": {"levels": [1], "repeats": 1}}})
    assert search.main(["--campaign", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    about = json.loads((tmp_path / "out/search.manifest.json").read_text("utf8"))["search"]
    won = {"label": "dspark-g1", "lane": "dspark", "block_size": 1} if verdict == "better" else {"label": "dspark-g3", "lane": "dspark", "block_size": 3}
    assert about["winner"] == won["label"] and about["winner_arm"] == won
    assert about["candidate"]["label"] == "dspark-g1" and about["candidate"]["window"]["verdict"] == "better"
    assert (about["candidate"]["confirm"] or {}).get("verdict") == verdict
    rows = csvio.read("points", tmp_path / "out/search.csv")
    curve = [row for row in rows if row["stage"] == "curve"]
    assert {row["block_size"] for row in curve if row["label"] == "winner"} == {won["block_size"]}
    assert min(row["order"] for row in curve) > max(row["order"] for row in rows if row["stage"] == "confirm")


@pytest.mark.usefixtures("fake_engine")
def test_files_noise_and_decision(campaign, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert search.main(["--campaign", str(campaign()), "--out", str(out), "--quiet"]) == 0
    assert sorted(path.name for path in out.glob("*.csv")) == ["noise.csv", "requests_search.csv", "search.csv", "steps_search.csv"]
    rows = csvio.read("points", out / "search.csv")
    assert {row["stage"] for row in rows} == {"sentinel", "aa", "window", "confirm"}
    noise = csvio.read("noise", out / "noise.csv")
    assert len(noise) == 2 * 5
    for row in noise:
        assert row["log_ratio"] == pytest.approx(math.log(row["value_b"] / row["value_a"]), abs=1e-7)
        assert row["boot_id_a"] != row["boot_id_b"]
        if row["metric"] == "accept_length":
            assert row["log_ratio"] == 0.0
    about = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    tried = about["candidate"]
    assert about["base"] == "dspark-g3" and tried["label"] in {"plain", "dspark-g1"}
    assert about["confirm"] == tried["confirm"] and about["confirm"]["label"] == tried["label"] and about["confirm"]["n"] == 2
    assert about["winner"] == about["winner_arm"]["label"] == (tried["label"] if about["confirm"]["verdict"] == "better" else "dspark-g3")
    boots = {stage: {row["boot_id"] for row in rows if row["stage"] == stage} for stage in ("aa", "window", "confirm")}
    assert not boots["confirm"] & (boots["aa"] | boots["window"])
    assert "search" not in json.loads((out / "noise.manifest.json").read_text("utf8"))
