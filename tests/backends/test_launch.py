"""Ranks that nobody may leave behind, and ranks that are taken for ours."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.backends import reaper
from engine.backends.launch import Launch, Ranks, left_over
from engine.config import ConfigError

SLEEP = ("sleep", "60")


@pytest.fixture
def rank() -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(SLEEP, start_new_session=True)
    yield process
    process.kill()
    process.wait()


def test_ranks_whose_guard_cannot_be_started_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def broken(ranks: Ranks) -> None:
        begun.extend(ranks.groups)
        raise RuntimeError("no guard")

    monkeypatch.setattr(Ranks, "watch", broken)
    with pytest.raises(RuntimeError, match="no guard"):
        Ranks(Launch(SLEEP, nodes=2), {}, tmp_path)
    assert len(begun) == 2 and not any(reaper.alive(group) for group in begun)


def test_a_stop_command_that_cannot_be_filled_is_found_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"asks for \{name\}"):
        Ranks(Launch(SLEEP, stop_command=("docker", "stop", "{name}")), {}, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_stop_command_that_is_not_installed_keeps_no_rank_alive(rank: subprocess.Popen) -> None:
    words = [sys.executable, "-S", "-E", reaper.__file__, str(rank.pid), "--", json.dumps(["/no/such/program"])]
    assert subprocess.run(words, check=False, stdin=subprocess.DEVNULL, timeout=30).returncode == 0
    assert rank.wait(5) == -signal.SIGTERM


def test_a_number_that_was_given_again_is_another_process(tmp_path: Path, rank: subprocess.Popen) -> None:
    began = reaper.started(rank.pid)
    file = tmp_path / "b0" / "groups.json"
    file.parent.mkdir()
    for owned, found in (({rank.pid: began}, [rank.pid]), ({rank.pid: began - 1}, [])):
        file.write_text(json.dumps(owned), "utf8")
        assert left_over(tmp_path) == found
    file.write_text('{"12', "utf8")
    assert left_over(tmp_path) == []


def test_what_a_boot_owns_is_gone_with_it(tmp_path: Path) -> None:
    ranks = Ranks(Launch(SLEEP), {}, tmp_path / "b0")
    assert left_over(tmp_path) == ranks.groups
    ranks.stop()
    assert left_over(tmp_path) == [] and not (tmp_path / "b0" / "groups.json").exists()
