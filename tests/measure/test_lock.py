"""Two measurements never run at once on one machine, and a dead one holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from engine.bench.lock import hold_machine

HOLD = "import sys, time\nfrom pathlib import Path\nfrom engine.bench.lock import hold_machine\nheld = hold_machine(print, Path(sys.argv[1]))\nprint('held', flush=True)\ntime.sleep(60)"


@pytest.fixture
def holder(tmp_path):
    path = tmp_path / "lock"
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline().strip() == "held"
    yield path, process
    process.kill()
    process.wait()


def test_the_second_waits_names_the_first_and_goes_on_when_it_is_killed(holder):
    path, process = holder
    said: list[str] = []
    got = []
    thread = threading.Thread(target=lambda: got.append(hold_machine(said.append, path)))
    thread.start()
    while not said:
        time.sleep(0.05)
    assert str(process.pid) in said[0] and not got
    os.kill(process.pid, signal.SIGKILL)
    thread.join(timeout=20)
    assert got and path.read_text().strip() == str(os.getpid())
    got[0].close()


def test_a_closed_lock_is_free(tmp_path):
    path = tmp_path / "lock"
    hold_machine(pytest.fail, path).close()
    hold_machine(pytest.fail, path).close()
