"""The gate's command from campaign.yaml to files, on the stand-in engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import csvio, gate

pytestmark = pytest.mark.usefixtures("fake_engine")
STAGES = {"gate": {"problems": 6, "sampled_problems": 3, "repeats": 4, "texts": 8, "text_repeats": 4, "max_tokens": 8, "text_tokens": 8, "max_concurrency": 4}}


def test_rows_manifest_and_rescore(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"
    # the stand-in cannot calculate: the gate may not pass
    assert gate.main(["--campaign", str(path), "--out", str(out), "--quiet"]) == 1
    rows = csvio.read("gate", out / "gate.csv")
    by_config = {config: [row for row in rows if row["config"] == config] for config in dict.fromkeys(row["config"] for row in rows)}
    assert len(by_config["base"]) == 6 + 3 * 4 + 8 * 4
    assert {row["role"] for row in rows} >= {"base", "control", "candidate", "broken", "silent"}
    about = json.loads((out / "gate.manifest.json").read_text("utf8"))
    found = about["gate"]
    assert about["rows"] == len(rows) and about["kind"] == "gate"
    assert found["controls"]["off_off_lossless"] is True
    assert found["controls"]["broken_fails"] is True, "greedy verification of sampled text must be seen"
    names = {(check["config"], check["name"]): check["verdict"] for check in found["checks"]}
    assert names["dspark-g3", "lossless"] == "pass" and names["dspark-g3", "variety"] == "pass"
    assert names["broken", "variety"] == "fail"

    again = tmp_path / "again"
    text = (out / "gate.csv").read_text("utf8")
    changed = tmp_path / "gate.csv"
    changed.write_text(text, "utf8")
    (tmp_path / "gate.manifest.json").write_text((out / "gate.manifest.json").read_text("utf8"), "utf8")
    capsys.readouterr()
    assert gate.main(["--campaign", str(path), "--out", str(again), "--rescore", str(changed), "--report-only"]) == 0
    assert (again / "gate.csv").read_bytes() == (out / "gate.csv").read_bytes()
    assert json.loads((again / "gate.manifest.json").read_text("utf8"))["gate"] == {**found, "rescored": True}


def test_an_interrupted_gate_is_gone_on_with(campaign, tmp_path: Path) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"
    words = ["--campaign", str(path), "--out", str(out), "--quiet", "--report-only"]
    assert gate.main(words) == 0
    rows = csvio.read("gate", out / "gate.csv")
    journal = tmp_path / "out.journal" / "gate.jsonl"
    content = journal.read_bytes()
    journal.write_bytes(content[: int(0.6 * len(content))])
    assert gate.main([*words, "--resume"]) == 0
    after = csvio.read("gate", out / "gate.csv")
    same = [{name: value for name, value in row.items() if name != "boot_id"} for row in after]
    assert same == [{name: value for name, value in row.items() if name != "boot_id"} for row in rows]


def test_dry_run(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(["--campaign", str(campaign(stages=STAGES)), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["samples"]["base"] == 6 + 12 + 32 and plan["boots"] == len(plan["samples"])


def test_bad_input(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(stages={"gate": {**STAGES["gate"], "max_concurrency": 99}})
    assert gate.main(["--campaign", str(path), "--dry-run"]) == 2
    assert "99 in flight need as many problems" in capsys.readouterr().err
    good = str(campaign(stages=STAGES))
    assert gate.main(["--campaign", good, "--out", str(tmp_path), "--rescore", str(tmp_path / "none.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
