"""A workflow that was killed, anywhere: the next run needs no command but itself, and no published row is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.workflow.conftest import Copy, copy_repository
from workflow.recover import drop_stale_marks

SEED = 7


def start(copy: Copy, *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "site", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(copy.root)}
    return subprocess.Popen(
        command, cwd=copy.root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def published(copy: Copy) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in copy.campaign.glob("*.csv")}


@pytest.mark.slow
def test_kill_at_random_points_then_build(tmp_path):
    copy = copy_repository(tmp_path)
    (copy.root / "mood").write_text("takes 0.3")
    dice = random.Random(SEED)
    for _ in range(4):
        process = start(copy)
        time.sleep(dice.uniform(1.5, 9))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    copy.build()
    assert "Nothing to be done" in copy.build()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_killed_repeat_leaves_the_published_rows(built: Copy, how):
    before = published(built)
    (built.root / "mood").write_text("takes 30")
    process = start(built, "-R", "sweep_isl")
    while not (built.root / "workflow/build/logs/local").is_dir() or process.poll() is None and not measuring(built):
        time.sleep(0.2)
    (os.kill if how == signal.SIGINT else os.killpg)(process.pid, how)
    if how == signal.SIGINT:
        os.killpg(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    (built.root / "mood").unlink()
    assert published(built) == before
    built.build()
    assert published(built) == before


def measuring(copy: Copy) -> bool:
    """Whether the stand-in of a measurement runs in this copy."""
    run = subprocess.run(["pgrep", "-f", "engine.sweep --sweep isl"], capture_output=True, text=True)
    for pid in run.stdout.split():
        try:
            if os.readlink(f"/proc/{pid}/cwd") == str(copy.root):
                return True
        except OSError:
            continue
    return False


def test_marks_go_only_when_nobody_lives(tmp_path):
    marks = [tmp_path / ".snakemake" / name for name in ("locks/0.input.lock", "incomplete/YWJj")]
    code = "import sys, time; from pathlib import Path; from workflow.recover import drop_stale_marks; print(drop_stale_marks(Path(sys.argv[1])), flush=True); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline().strip() == "[]"
    for mark in marks:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    assert drop_stale_marks(tmp_path) == [] and all(mark.exists() for mark in marks)
    other.kill()
    other.wait()
    assert drop_stale_marks(tmp_path) == ["locks/0.input.lock", "incomplete/YWJj"] and not any(mark.exists() for mark in marks)
