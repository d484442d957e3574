"""The gate's command from campaign.yaml to files, on the stand-in engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import csvio, gate
from workflow.derive import load

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


def test_a_candidate_that_crashes_fails_the_gate_and_leaves_a_row(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FAKE_FAULT", "crash:mtp")
    path, out, again = campaign(stages={"gate": {**STAGES["gate"], "lanes": ["mtp"]}}), tmp_path / "out", tmp_path / "again"
    assert gate.main(["--campaign", str(path), "--out", str(out), "--quiet"]) == 1
    rows = csvio.read("gate", out / "gate.csv")
    (row,) = [row for row in rows if row["config"] == "mtp"]
    assert (row["status"], row["role"], row["lane"]) == ("crash", "candidate", "mtp") and "a fault inside the engine" in row["note"]
    assert row["boot_id"] and row["host"] and row["threads"] == 1
    found = json.loads((out / "gate.manifest.json").read_text("utf8"))["gate"]
    assert found["verdict"] == "fail" and found["configs"]["mtp"] == {"role": "candidate", "outcome": "fail"}
    assert [one["config"] for one in found["unanswered"]] == ["mtp"]
    assert gate.main(["--campaign", str(path), "--out", str(again), "--rescore", str(out / "gate.csv")]) == 1
    assert (again / "gate.csv").read_bytes() == (out / "gate.csv").read_bytes()
    assert json.loads((again / "gate.manifest.json").read_text("utf8"))["gate"] == {**found, "rescored": True}
    assert len(load.read_table(out / "gate.csv", (out / "gate.csv").read_bytes())[1]) == 1


def test_a_base_that_crashes_ends_the_gate(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FAKE_FAULT", "crash:plain")
    assert gate.main(["--campaign", str(campaign(stages=STAGES)), "--out", str(tmp_path / "out"), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "nothing to compare with: crash: " in said and not (tmp_path / "out" / "gate.csv").exists()


def test_rows_tell_machine_boot_and_settings(campaign, tmp_path: Path) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"
    gate.main(["--campaign", str(path), "--out", str(out), "--quiet", "--report-only"])
    rows, about = csvio.read("gate", out / "gate.csv"), json.loads((out / "gate.manifest.json").read_text("utf8"))
    assert {(row["host"], row["device"], row["threads"]) for row in rows} == {(about["machine"]["host"], about["machine"]["cpu"], about["threads"])}
    boots = {(row["config"], row["boot_id"]) for row in rows}
    assert len(boots) == len({boot for _, boot in boots}) == len({config for config, _ in boots}), "a boot a configuration"
    knobs = {row["config"]: row["knobs"] for row in rows}
    assert knobs["base"] is None and knobs["state-bf16"] == "mamba_ssm_dtype=bfloat16" and knobs["chunked_prefill_size=32"] == "chunked_prefill_size=32"
    assert knobs["schedule_conservativeness=0.6"].startswith("max_total_num_tokens=")
    # the stand-in lets every request in: the settings that may not change a bit had nothing to do, and the gate says so
    bound = {row["config"]: row["bound_steps"] for row in rows}
    assert {config for config, steps in bound.items() if steps is not None} == {row["config"] for row in rows if row["role"] == "silent"}
    noted = {check["config"] for check in about["gate"]["checks"] if (check["name"], check["verdict"]) == ("could bind", "note") and "inert by construction" in check["detail"]}
    assert noted == {config for config, steps in bound.items() if steps == 0} != set()


def test_dry_run(campaign, capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(["--campaign", str(campaign(stages=STAGES)), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["samples"]["base"] == 6 + 12 + 32 and plan["boots"] == len(plan["samples"])


def test_bad_input(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(stages={"gate": {**STAGES["gate"], "max_concurrency": 99}})
    assert gate.main(["--campaign", str(path), "--dry-run"]) == 2
    assert "99 in flight need as many problems" in capsys.readouterr().err
    good = str(campaign(stages=STAGES))
    # the file that was asked for is named, and then what should stand beside it
    for name, missing in (("none.csv", "none.csv"), ("campaign.yaml", "campaign.yaml"), ("gate.csv", "gate.manifest.json")):
        (tmp_path / "gate.csv").write_bytes(csvio.render("gate", [], "gate.csv"))
        assert gate.main(["--campaign", good, "--out", str(tmp_path / "new"), "--rescore", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and str(tmp_path / missing) in said and not (tmp_path / "new").exists()
