"""The search command on the stand-in engine, and its judgement on rows made for the purpose."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from engine import csvio, search
from engine.bench import plans, verdicts
from engine.bench.stages import Search


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
    found, spread = search.judge(cell_rows(STAGE, TPOT, 0.005), STAGE, [0.006, -0.008, 0.005, -0.003])
    by_label = {verdict.arm.label: verdict for verdict in found}
    assert {label: verdict.comparison.verdict for label, verdict in by_label.items()} == {
        "plain": "worse",
        "dspark-g1": "worse",
        "dspark-g2": "better",
        "dspark-g5": "not resolved",
    }
    assert by_label["dspark-g2"].comparison.ratio == pytest.approx(4.0 / 3.6, rel=0.02)
    assert by_label["dspark-g2"].throughput_ratio == pytest.approx(4.0 / 3.6, rel=0.02)
    assert spread.df == 3 + 4 * 2


def test_a_steady_drift_cancels() -> None:
    for label, values in verdicts.against_base(cell_rows(STAGE, TPOT)).items():
        assert values == pytest.approx([math.log(4.0 / TPOT[label])] * 3, abs=1e-9)


def test_a_candidate_that_never_finished_has_no_verdict() -> None:
    rows = [row | {"status": "crash"} if row["label"] == "plain" else row for row in cell_rows(STAGE, TPOT)]
    found, _ = search.judge(rows, STAGE, [0.0, 0.01])
    assert "plain" not in {verdict.arm.label for verdict in found}


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
    assert about["base"] == "dspark-g3" and about["winner"] in {"plain", "dspark-g1"}
    assert about["confirm"]["label"] == about["winner"] and about["confirm"]["n"] == 2
    boots = {stage: {row["boot_id"] for row in rows if row["stage"] == stage} for stage in ("aa", "window", "confirm")}
    assert not boots["confirm"] & (boots["aa"] | boots["window"])
    assert "search" not in json.loads((out / "noise.manifest.json").read_text("utf8"))
