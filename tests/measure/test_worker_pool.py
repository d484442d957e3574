"""Processes that import ahead of their boots: several at once, none while anything is measured, none left behind."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from engine import csvio, sweep
from engine.backends import worker_pool
from engine.backends.base import EngineFailure
from engine.backends.embedded import EmbeddedBackend
from engine.backends.worker_process import WorkerProcess
from engine.config import EngineConfig
from engine.machine import beside
from tests.measure.conftest import ROOT

IMPORT_S = 1.0
STAGE = {"isl": {"content": "code", "block_size": 3, "ladder": [16, 32], "osl": 6, "num_prompts": 2, "repeats": 1}}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[WorkerProcess]:
    """Every process that is started."""
    found: list[WorkerProcess] = []
    original = WorkerProcess.__init__

    def noting(self: WorkerProcess, *words: object) -> None:
        found.append(self)
        original(self, *words)

    monkeypatch.setattr(WorkerProcess, "__init__", noting)
    return found


@pytest.mark.usefixtures("fake_engine")
def test_imports_overlap_each_other_and_no_measurement(campaign, started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool.WorkerPool, "processors", [None, None, None])
    monkeypatch.setenv("FAKE_DIARY", str(tmp_path / "diary"))
    monkeypatch.setenv("FAKE_IMPORT_S", str(IMPORT_S))
    out = tmp_path / "out"
    assert sweep.main(["--sweep", "isl", "--campaign", str(campaign(stages=STAGE)), "--out", str(out), "--quiet"]) == 0
    spans = [json.loads(line) for line in (tmp_path / "diary").read_text().splitlines()]
    imports = [one for one in spans if one["what"] == "import"]
    measured = [one for one in spans if one["what"] != "import"]
    assert Counter(one["what"] for one in measured)["probe"] and len(imports) == 6, "four boots in groups of three"
    assert not [(a, b) for a in imports for b in measured if a["begin"] < b["end"] and b["begin"] < a["end"]]
    groups = [imports[:3], imports[3:]]
    assert all(max(one["begin"] for one in group) < min(one["end"] for one in group) for group in groups), "a group imports at once"
    assert all(process.process.poll() is not None for process in started), "nor is a process left that nothing booted"
    # a boot has the whole of its imports, the ledger what they took of the command
    boots = {row["boot_id"]: row["boot_s"] for row in csvio.read("points", out / "sweep_isl.csv")}
    assert len(boots) == 4 and all(value >= IMPORT_S for value in boots.values())
    about = json.loads((out / "sweep_isl.manifest.json").read_text("utf8"))
    assert about["cost"]["boot_s"] < sum(boots.values()) and about["cost"]["boot_s"] < about["seconds"]


@pytest.mark.usefixtures("fake_engine")
def test_a_command_that_fails_leaves_no_process(campaign, started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool.WorkerPool, "processors", [None, None])
    monkeypatch.setenv("FAKE_FAULT", "config")
    assert sweep.main(["--sweep", "isl", "--campaign", str(campaign(stages=STAGE)), "--out", str(tmp_path / "out"), "--quiet"]) == 2
    assert len(started) == 2 and all(process.process.poll() is not None for process in started)


@pytest.mark.parametrize(
    ("code", "said"), [("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"), ("import os; os.abort()", "SIGABRT")]
)
def test_a_process_that_dies_while_it_imports_fails_its_own_boot(code: str, said: str) -> None:
    pool = worker_pool.WorkerPool(1, None, (sys.executable, "-c", code))
    engine = EmbeddedBackend(EngineConfig(), process=pool.take())
    with engine, pytest.raises(EngineFailure, match=said) as failure:
        engine.boot()
    assert failure.value.status == "crash"
    pool.close()
    assert not pool.waiting


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_wherever_it_imported_a_boot_is_pinned_to_the_measured_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    cpu = max(os.sched_getaffinity(0))
    pool = worker_pool.WorkerPool(1, cpu)
    assert pool.processors[0] == cpu and len(set(pool.processors)) == len(pool.processors) > 1
    for place in pool.processors:
        process = pool.take()
        assert process.cpu == place and process.start_s >= process.cpu_s > 0
        with EmbeddedBackend(EngineConfig(max_total_num_tokens=1024), cpu, process) as engine:
            engine.boot()
            tasks = Path(f"/proc/{process.process.pid}/task").iterdir()
            assert {line for task in tasks for line in (task / "status").read_text().splitlines() if line.startswith("Cpus_allowed_list")} == {
                f"Cpus_allowed_list:\t{cpu}"
            }, "all of its threads"
    pool.close()
    assert pool.elsewhere_s > 0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_processes_ahead_import_beside_the_processor_that_works_and_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("FAKE_IMPORT_S", str(IMPORT_S))
    cpu = max(os.sched_getaffinity(0))
    pool = worker_pool.WorkerPool(1, cpu, (sys.executable, "-m", "tests.measure.fake_worker"))
    group = [pool.take() for _ in pool.processors]
    begin = time.monotonic()
    pool.ahead(0)
    assert not pool.waiting
    pool.ahead(1)
    assert time.monotonic() - begin < IMPORT_S, "it is not waited for"
    pool.ahead(1)
    assert len(pool.waiting) == 1 and pool.waiting[0].cpu not in (None, cpu)
    group.append(pool.take())
    assert time.monotonic() - begin >= IMPORT_S and group[-1].start_s >= IMPORT_S and not pool.waiting
    begin = time.monotonic()
    pool.ahead(1)
    select.select([pool.waiting[0].process.stdout], [], [])
    time.sleep(IMPORT_S)
    late = pool.take()
    assert IMPORT_S <= late.start_s <= time.monotonic() - begin - IMPORT_S, "what it took, not how long ago it was started"
    assert late.share_s < IMPORT_S, "the command did not wait for it"
    for process in (*group, late):
        process.stop()


def test_processors_of_the_same_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3, 9}, raising=False)
    assert beside(1, tmp_path) == [0, 2, 3, 9], "a system that does not say"
    for node, cpus in enumerate(((0, 1, 9, 11), (2, 3))):
        for cpu in cpus:
            (tmp_path / f"node{node}/cpu{cpu}").mkdir(parents=True)
    assert beside(1, tmp_path) == [0, 9] and beside(3, tmp_path) == [2]
