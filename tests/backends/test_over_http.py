"""The engine of this repository, launched as a server and measured over HTTP by the same program: a real sweep, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from engine import csvio, sweep
from engine.backends import device_memory

MEASURE = {
    "preset": "quick",
    "threads": 1,
    "seed": 5,
    "engine": {"max_running_requests": 8, "max_total_num_tokens": 4096},
    "server": {"tokenizer": "engine/weights/tokenizer.json", "bos_token_id": 1, "warmup_batches": 2, "weights_revision": "shipped"},
    "stages": {"concurrency": {"block_size": 3, "levels": [1, 2], "isl": 32, "osl": 12, "num_prompts": 2, "repeats": 1}},
}


@pytest.mark.slow
def test_a_sweep_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_memory, "in_use", lambda: None)
    path, out = tmp_path / "campaign.yaml", tmp_path / "out"
    path.write_text(yaml.safe_dump({"name": "viahttp", "backend": "soundings", "measure": MEASURE}), "utf8")
    assert sweep.main(["--sweep", "concurrency", "--campaign", str(path), "--out", str(out), "--quiet"]) == 0
    points = csvio.read("points", out / "sweep_concurrency.csv")
    cells = [row for row in points if row["stage"] == "concurrency"]
    assert [row["status"] for row in points] == ["ok"] * 6
    assert {(row["lane"], row["max_concurrency"]) for row in cells} == {("plain", 1), ("plain", 2), ("dspark", 1), ("dspark", 2)}
    for row in cells:
        assert row["backend"] == "soundings" and row["weights_revision"] == "shipped"
        assert row["max_total_num_tokens"] == 4096 and row["effective_max_running_requests"] == 8
        assert row["max_running_requests"] == 8
        assert row["step_source"] in ("chunks", "derived") and row["step_ms"] > 0
        assert (row["accept_length"] is None) == (row["lane"] == "plain")
        # what the engine's own step rows say is unknown from outside, not zero
        assert row["kv_usage_max"] is None is row["steps"]
        # what a client sees on its own is told as in process; a chunk of several tokens does not say how many it has
        if row["lane"] == "plain":
            assert row["plateau_output_throughput"] > 0 and 0 < row["plateau_share"] <= 1
        else:
            assert row["plateau_output_throughput"] is None is row["plateau_share"]
        assert row["steal_share"] is not None and row["load_average"] is not None
        # the machine is probed by the client, which runs on the server's
        assert all(row[f"probe_{kind}_{when}_ms"] > 0 for kind in ("copy", "compute") for when in ("before", "after"))
    manifest = json.loads((out / "sweep_concurrency.manifest.json").read_text("utf8"))
    assert manifest["config"]["engine"]["server"]["missing"] == ["image_digest"]
    assert "model" not in manifest
    assert len(list((out / "logs" / "concurrency").glob("*/rank0.log"))) == 4
