"""A disk that fills up while a sweep is measured: one line, no file half-written, and what was measured is gone on with when there is room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import sweep
from tests.workflow.full import limited, may_mount, mounted, run

STAGES = {"isl": {"content": "code", "block_size": 3, "ladder": [16, 32], "osl": 6, "num_prompts": 2, "repeats": 2}}
OLD = "rows of an earlier measurement\n"


def arguments(campaign: Path, folder: Path, *more: str) -> list[str]:
    return ["--sweep", "isl", "--campaign", str(campaign), "--out", str(folder / "out"), "--journal", str(folder / "journal"), "--quiet", *more]


def closed(folder: Path) -> int:
    lines = (folder / "journal/isl.jsonl").read_text("utf8").splitlines()
    return sum(line.startswith('{"kind":"closed"') for line in lines if line.endswith("}"))


def test_a_disk_that_fills_up(campaign, fake_engine: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = tmp_path / "disk", campaign(stages=STAGES)
    if not may_mount(folder):
        pytest.skip("nothing may be mounted here")
    with mounted(folder, "64k"):
        (folder / "out").mkdir()
        (folder / "out/sweep_isl.csv").write_text(OLD)
        assert sweep.main(arguments(path, folder)) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "No space left on device" in said
        assert [file.name for file in (folder / "out").iterdir()] == ["sweep_isl.csv"] and (folder / "out/sweep_isl.csv").read_text() == OLD
        kept = closed(folder)
        assert kept > 0
        assert run("mount", "-o", "remount,size=16m", str(folder))
        assert sweep.main(arguments(path, folder, "--resume", "interrupted")) == 0
        assert (folder / "out/sweep_isl.csv").read_text() != OLD
        records = [json.loads(line) for line in (folder / "journal/isl.jsonl").read_text("utf8").splitlines()]
        finished = [one["block"] for one in records if one["kind"] == "closed"]
        assert len(finished) == len(set(finished)) > kept, "a block that was finished on the small disk was measured again"


def test_a_file_that_may_not_grow(campaign, fake_engine: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(stages=STAGES)
    with limited(tmp_path):
        assert sweep.main(arguments(path, tmp_path)) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "File too large" in said
    assert list((tmp_path / "out").iterdir()) == []
    assert sweep.main(arguments(path, tmp_path, "--resume", "interrupted")) == 0
    assert (tmp_path / "out/sweep_isl.csv").is_file()
