"""A disk that fills up while a sweep is measured: one line, no file half-written, and what was measured is gone on with when there is room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import gate, search, sweep
from tests.measure.conftest import SIZES
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


SMALL = {
    "search": {**SIZES["search"], "block_sizes": [3], "osl": 4, "num_prompts": 2, "passes": 1, "window_repeats": 1, "confirm_pairs": 1},
    "gate": {"problems": 2, "sampled_problems": 1, "repeats": 2, "texts": 1, "text_repeats": 2, "max_concurrency": 2, "control_problems": 1, "max_tokens": 4, "text_tokens": 4},
    **STAGES,
}


@pytest.mark.parametrize("name", ["search", "gate", "rescore", "part", "gather"])
def test_no_command_leaves_half_a_file_on_a_full_disk(campaign, fake_engine: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Every command that writes: what lay there before lies there still, and nothing beside it."""
    path, out = campaign(stages=SMALL), tmp_path / "out"
    common = ["--campaign", str(path), "--out", str(out), "--quiet"]
    kept, parts = tmp_path / "kept", tmp_path / "parts"
    if name == "rescore":
        gate.main(["--campaign", str(path), "--out", str(kept), "--quiet", "--report-only"])
    if name == "gather":
        assert sweep.main(["--sweep", "isl", "--campaign", str(path), "--out", str(parts), "--quiet", "--part", "1/1"]) == 0
    program, words = {
        "search": (search, common),
        "gate": (gate, [*common, "--report-only"]),
        "rescore": (gate, [*common, "--report-only", "--rescore", str(kept / "gate.csv")]),
        "part": (sweep, ["--sweep", "isl", *common, "--part", "1/1"]),
        "gather": (sweep, ["--sweep", "isl", *common, "--gather", *map(str, parts.glob("*.jsonl"))]),
    }[name]
    out.mkdir()
    for file in ("search.csv", "gate.csv", "sweep_isl.csv", "isl.1-of-1.part.jsonl"):
        (out / file).write_text(OLD)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    capsys.readouterr()
    with limited(tmp_path):
        assert program.main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "File too large" in said
    assert {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()} == before
