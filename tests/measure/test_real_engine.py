"""Both commands on the real engine with the shipped weights, sizes of the preset `smoke`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import csvio, search, sweep
from engine.config import WEIGHTS
from tests.measure.test_dry_run import LOCAL

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not (WEIGHTS / "target.safetensors").is_file(), reason="no weights in this checkout")]


@pytest.mark.parametrize("name", ["window", "concurrency"])
def test_sweep(tmp_path: Path, name: str) -> None:
    assert sweep.main(["--sweep", name, "--campaign", str(LOCAL), "--preset", "smoke", "--out", str(tmp_path), "--quiet"]) == 0
    every = csvio.read("points", tmp_path / f"sweep_{name}.csv")
    # on a busy machine the probe throws cells away and measures them again
    points = [point for point in every if point["status"] != "rejected"]
    assert {point["status"] for point in points} == {"ok"}
    for point in points:
        parts = point["draft_ms"] + point["verify_ms"] + point["commit_ms"] + point["other_ms"]
        assert parts == pytest.approx(point["step_ms"], rel=1e-3)
        assert point["failed"] == 0
        if point["lane"] != "plain":
            assert 1 <= point["accept_length"] <= point["block_size"] + 1
    about = json.loads((tmp_path / f"sweep_{name}.manifest.json").read_text("utf8"))
    assert about["lossless"]["compared"] == about["lossless"]["equal"] > 0
    assert about["model"]["params"] > 0 and about["model"]["state_bytes"] > 0


def test_search(tmp_path: Path) -> None:
    assert search.main(["--campaign", str(LOCAL), "--preset", "smoke", "--out", str(tmp_path), "--quiet"]) == 0
    noise = csvio.read("noise", tmp_path / "noise.csv")
    assert {row["log_ratio"] for row in noise if row["metric"] == "accept_length"} == {0.0}
    assert all(abs(row["log_ratio"]) > 0 for row in noise if row["metric"] == "mean_tpot_ms")
