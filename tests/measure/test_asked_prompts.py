"""Prompts of ranged lengths and of a file, as a campaign asks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import csvio, sweep
from tests.measure.conftest import SIZES

pytestmark = pytest.mark.usefixtures("fake_engine")


def measured(campaign, out: Path, **keys: object) -> list[dict]:
    path = campaign(stages={"concurrency": {**SIZES["concurrency"], **keys}})
    assert sweep.main(["--sweep", "concurrency", "--campaign", str(path), "--out", str(out), "--quiet"]) == 0
    ids = {row["run_id"]: row["dataset"] for row in csvio.read("points", out / "sweep_concurrency.csv") if row["stage"] == "concurrency"}
    return [{**row, "dataset": ids[row["run_id"]]} for row in csvio.read("requests", out / "requests_concurrency.csv") if row["run_id"] in ids]


def test_lengths_are_ranged_alike_at_every_level(campaign, tmp_path: Path) -> None:
    rows = measured(campaign, tmp_path / "out", isl=64, range_ratio=0.25)
    lengths = {run: tuple(row["isl"] for row in rows if row["run_id"] == run) for run in {row["run_id"] for row in rows}}
    assert len(set(lengths.values())) == 1 and len(set(*set(lengths.values()))) > 2
    assert all(length <= 64 for length in next(iter(lengths.values())))


def test_prompts_of_a_file(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "asked.txt"
    file.write_text("def one():\n---\nprint(2)\n")
    rows = measured(campaign, tmp_path / "out", file=str(file), isl=32)
    assert {row["prompt_id"] for row in rows} == {"asked.txt#0", "asked.txt#1"} and {row["dataset"] for row in rows} == {"fixed"}
    for keys, says in (({"isl": 2}, "has a prompt of"), ({"file": str(tmp_path / "none"), "isl": 32}, "No such file")):
        path = campaign(stages={"concurrency": {**SIZES["concurrency"], "file": str(file), **keys}})
        assert sweep.main(["--sweep", "concurrency", "--campaign", str(path), "--out", str(tmp_path / "no")]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "measure.stages.concurrency.file: " in said and says in said and not (tmp_path / "no").exists()
