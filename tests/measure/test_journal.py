"""Whatever ends a measuring process: no finished cell is lost, none counts twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import csvio, sweep
from engine.backends.embedded import EmbeddedBackend
from engine.bench.journal import Journal, digest, whole_lines
from tests.measure.conftest import ROOT, SIZES

STAGES = {"isl": {**SIZES["isl"], "ladder": [16, 32], "repeats": 3}}


def cells(out: Path) -> Counter:
    rows = csvio.read("points", out / "sweep_isl.csv")
    return Counter((row["label"], row["isl"], row["repeat"]) for row in rows if row["stage"] == "isl")


WHOLE = Counter({(label, isl, repeat): 1 for label in ("plain", "dspark-g3") for isl in (16, 32) for repeat in range(3)})


def arguments(campaign: Path, out: Path, *more: str) -> list[str]:
    return ["--sweep", "isl", "--campaign", str(campaign), "--out", str(out), "--quiet", *more]


def whole(out: Path) -> None:
    """Every cell is there once, and every row family belongs to one of them."""
    assert cells(out) == WHOLE
    points = csvio.read("points", out / "sweep_isl.csv")
    ids = [row["run_id"] for row in points]
    assert len(set(ids)) == len(ids)
    for kind in ("requests", "steps"):
        assert {row["run_id"] for row in csvio.read(kind, out / f"{kind}_isl.csv")} == set(ids)
    for boot in {row["boot"] for row in points if row["stage"] == "isl"}:
        inside = [row for row in points if row["boot"] == boot]
        assert len({row["boot_id"] for row in inside}) == 2, "the arms of a block were alive together"


def killed_on_the_way(command: list[str], environment: dict[str, str], journal: Path, more: int) -> bool:
    """Run a command and kill it as soon as its journal has grown by `more` bytes; whether it was still running then."""
    process = subprocess.Popen(command, env=environment, cwd=ROOT)
    goal, end = (journal.stat().st_size if journal.exists() else 0) + more, time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end and not (journal.exists() and journal.stat().st_size >= goal):
        time.sleep(0.002)
    running = process.poll() is None
    if running:
        process.send_signal(signal.SIGKILL)
    process.wait()
    return running


def test_killed_at_random_points(campaign, tmp_path: Path) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"
    command = [sys.executable, "-m", "tests.measure.fake_sweep", *arguments(path, out, "--resume", "interrupted")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    draw, journal = random.Random(7), tmp_path / "out.journal" / "isl.jsonl"
    assert sum(killed_on_the_way(command, environment, journal, draw.randint(200, 6000)) for _ in range(5)) >= 2
    assert subprocess.run(command, check=False, env=environment, cwd=ROOT, timeout=120).returncode == 0
    whole(out)


GATE = {"block_sizes": [1], "problems": 6, "sampled_problems": 2, "texts": 2, "control_problems": 3, "max_concurrency": 4, "repeats": 2, "text_repeats": 2}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "stage", "kind", "columns"),
    [("search", SIZES["search"], "points", ("stage", "label", "repeat", "in_boot_pass")), ("gate", GATE, "gate", ("config", "task", "problem", "repeat"))],
)
def test_search_and_gate_killed_at_random_points(campaign, tmp_path: Path, program: str, stage: dict, kind: str, columns: tuple[str, ...]) -> None:
    """Whatever the command: as many rows of each cell or sample as a run that nobody killed."""
    path, draw, killed, found = campaign(stages={program: stage}), random.Random(11), 0, {}
    for name in ("whole", "killed"):
        out = tmp_path / name
        words = ["--campaign", str(path), "--out", str(out), "--quiet", "--resume", "interrupted"]
        command = [sys.executable, "-m", "tests.measure.fake_sweep", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "FAKE_PROGRAM": program}
        for _ in range(4 if name == "killed" else 0):
            killed += killed_on_the_way(command, environment, tmp_path / f"{name}.journal" / f"{program}.jsonl", draw.randint(200, 9000))
        assert subprocess.run(command, check=False, env=environment, cwd=ROOT, timeout=240).returncode in (0, 1)
        rows = csvio.read(kind, out / f"{program}.csv")
        # which candidate is confirmed is the clock's word
        found[name] = Counter(tuple(row[column] for column in columns) for row in rows if row.get("stage") not in ("sentinel", "confirm"))
    assert killed >= 2 and found["killed"] == found["whole"] and set(found["whole"].values()) == {1}


@pytest.mark.usefixtures("fake_engine")
def test_a_journal_cut_anywhere_is_gone_on_with(campaign, tmp_path: Path) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"
    assert sweep.main(arguments(path, out)) == 0
    journal = tmp_path / "out.journal" / "isl.jsonl"
    content = journal.read_bytes()
    for share in (0.35, 0.8):
        journal.write_bytes(content[: int(share * len(content))])
        assert sweep.main(arguments(path, out, "--resume")) == 0
        whole(out)
        stages = Counter(row["stage"] for row in csvio.read("points", out / "sweep_isl.csv"))
        assert stages["sentinel"] == 3, "start, after the resume, end"


@pytest.mark.usefixtures("fake_engine")
def test_a_finished_command_measures_nothing_again(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"
    assert sweep.main(arguments(path, out)) == 0
    rows = (out / "sweep_isl.csv").read_bytes()
    (out / "sweep_isl.csv").unlink()
    booted = []
    original = EmbeddedBackend.boot
    monkeypatch.setattr(EmbeddedBackend, "boot", lambda self, *more: booted.append(self) or original(self, *more))
    assert sweep.main(arguments(path, out, "--resume")) == 0
    assert not booted and (out / "sweep_isl.csv").read_bytes() == rows
    # a finished journal is no interrupted one: the command was asked to measure
    assert sweep.main(arguments(path, out, "--resume", "interrupted")) == 0
    assert len(booted) == 8 and (out / "sweep_isl.csv").read_bytes() != rows


@pytest.mark.usefixtures("fake_engine")
def test_rows_of_another_definition_are_not_passed_off(campaign, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert sweep.main(arguments(campaign(stages=STAGES), out)) == 0
    other = campaign(stages={"isl": {**STAGES["isl"], "osl": 7}})
    assert sweep.main(arguments(other, out, "--resume")) == 0
    assert {row["osl"] for row in csvio.read("points", out / "sweep_isl.csv") if row["stage"] == "isl"} == {7}
    assert cells(out) == WHOLE


@pytest.mark.usefixtures("fake_engine")
def test_a_cell_on_a_moving_machine_is_measured_once_more(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "moves")
    out = tmp_path / "out"
    assert sweep.main(arguments(campaign(stages=STAGES), out)) == 0
    rows = csvio.read("points", out / "sweep_isl.csv")
    thrown = [row for row in rows if row["status"] == "rejected"]
    assert thrown and all("a probe moved by" in row["note"] and row["output_throughput"] is None for row in thrown)
    assert len(thrown) < len(rows) / 3, "a machine that never rests must not double the campaign"
    again = [row for row in rows if row["measured_again"]]
    assert len(again) == len(thrown)
    good = Counter((row["label"], row["isl"], row["repeat"]) for row in rows if row["stage"] == "isl" and row["status"] == "ok")
    assert good == WHOLE
    cost = json.loads((out / "sweep_isl.manifest.json").read_text("utf8"))["cost"]
    assert cost["wasted_s"] > 0 and cost["by_stage"]["isl"]["boots"] == 6


COSTS = {"verify_cost": {"models": ["trained"], "modes": ["eager"], "larger": ["random-25m"], "repeats": 1}}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize("ended", [0, 1, 2])
def test_a_measuring_process_of_verify_cost_that_ended_is_not_run_again(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: int) -> None:
    diary = tmp_path / "diary"
    monkeypatch.setenv("FAKE_DIARY", str(diary))
    timed = lambda: sum(json.loads(line)["what"] == "verify_cost" for line in diary.read_text("utf8").splitlines())
    words = ["--sweep", "verify_cost", "--campaign", str(campaign(stages=COSTS)), "--out", str(tmp_path / "out"), "--quiet"]
    assert sweep.main(words) == 0
    file, journal = tmp_path / "out" / "sweep_verify_cost.csv", tmp_path / "out.journal" / "verify_cost.jsonl"
    whole, lines = csvio.read("verify_cost", file), journal.read_bytes().splitlines(keepends=True)
    closed = [at for at, line in enumerate(lines) if json.loads(line).get("rows")]
    assert len(closed) == 2 == timed(), "the larger model has a process of its own"
    # half a line of what came next
    at = [*closed, closed[1] + 1][ended]
    journal.write_bytes(b"".join(lines[:at]) + lines[at][:9])
    assert sweep.main([*words, "--resume"]) == 0
    assert timed() == 2 + (2 - ended)
    rows = csvio.read("verify_cost", file)
    assert [(row["run_id"], row["model"]) for row in rows] == [(row["run_id"], row["model"]) for row in whole]
    assert rows[:ended] == whole[:ended] and len({row["boot_id"] for row in rows}) == 2
    assert {row[f"probe_{kind}_{when}_ms"] for row in rows for kind in ("copy", "compute") for when in ("before", "after")} == {1.0, 2.0}


@given(st.lists(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=6), max_size=3), max_size=6), st.integers(0, 400))
def test_whole_lines_are_a_prefix_of_what_was_written(records: list[dict], cut: int) -> None:
    content = b"".join(json.dumps(one).encode("utf8") + b"\n" for one in records)[:cut]
    found = list(whole_lines(content))
    assert [one for one, _ in found] == records[: len(found)]
    end = found[-1][1] if found else 0
    assert b"\n" not in content[end:]


def test_the_key_of_a_block_is_its_content() -> None:
    assert digest({"b": 1, "a": (1, 2)}) == digest({"a": [1, 2], "b": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_without_a_path_nothing_is_written(tmp_path: Path) -> None:
    journal = Journal(None)
    journal.append({"kind": "cell"})
    assert not journal.resumed and list(tmp_path.iterdir()) == []
