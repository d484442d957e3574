"""A server that keeps its prefix cache: every load is new to it, and equal for the arms that are compared."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import csvio, search, sweep
from engine.backends.embedded import EmbeddedBackend
from engine.backends.worker_process import WorkerProcess
from engine.bench.cells import PLAIN, Cell, dspark
from engine.bench.datasets import NONCE_TOKENS
from engine.bench.session import WARMUP_TOKENS, Session
from engine.bench.workloads import Workload
from tests.measure.conftest import SIZES

Loads = list[tuple[WorkerProcess, str, list[tuple[int, ...]]]]
"""(process, lane, prompts) of every load, warm-ups apart."""


@pytest.fixture
def loads(fake_engine: None, monkeypatch: pytest.MonkeyPatch) -> Loads:
    """The stand-in engine as one that cannot empty its cache."""
    found: Loads = []

    def run(self: EmbeddedBackend, requests: list[dict], *words, whole=EmbeddedBackend.run, **named) -> dict:
        if requests[0]["sampling"]["max_tokens"] != WARMUP_TOKENS:
            found.append((self.process, self.config.lane, [tuple(one["prompt_ids"]) for one in requests]))
        return whole(self, requests, *words, **named)

    monkeypatch.setattr(EmbeddedBackend, "flushes", False)
    monkeypatch.setattr(EmbeddedBackend, "run", run)
    return found


def known_prefixes(loads: Loads) -> int:
    """Prompts that begin as an earlier one of the same process did: with <bos> and its nonce."""
    prefixes = defaultdict(list)
    for process, _, prompts in loads:
        prefixes[process] += [ids[: 1 + NONCE_TOKENS] for ids in prompts]
    return sum(len(of) - len(set(of)) for of in prefixes.values())


def test_lanes_get_equal_prompts_of_the_length_that_was_asked(loads: Loads, campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that are measured again in the same process too, because a probe moved."""
    monkeypatch.setenv("FAKE_FAULT", "moves")
    path = campaign(stages={"isl": {**SIZES["isl"], "osl": 9}}, probe_tolerance=0.2)
    assert sweep.main(["--sweep", "isl", "--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
    rows = csvio.read("points", tmp_path / "sweep_isl.csv")
    assert any((row["note"] or "").startswith("a probe moved") for row in rows) and known_prefixes(loads) == 0
    done = [row for row in rows if row["status"] == "ok" and row["stage"] == "isl"]
    assert done and all(row["total_input_tokens"] == row["isl"] * row["completed"] for row in done)
    asked = {lane: {ids for _, own, prompts in loads for ids in prompts if own == lane} for lane in ("plain", "dspark")}
    assert asked["plain"] & asked["dspark"]
    about = json.loads((tmp_path / "sweep_isl.manifest.json").read_text("utf8"))["lossless"]
    assert about["compared"] == about["equal"] > 0, "what is compared has one nonce"


def test_passes_over_one_load_find_nothing_of_each_other(loads: Loads, campaign, tmp_path: Path) -> None:
    path = campaign(stages={"search": {**SIZES["search"], "osl": 9}})
    assert search.main(["--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
    assert known_prefixes(loads) == 0
    rows, requests = csvio.read("points", tmp_path / "search.csv"), csvio.read("requests", tmp_path / "requests_search.csv")
    outputs: dict[tuple, dict[str, list]] = defaultdict(dict)
    for row in (row for row in rows if row["stage"] == "aa"):
        own = [(one["prompt_id"], one["output_sha"]) for one in requests if one["run_id"] == row["run_id"]]
        outputs[row["boot"], row["in_boot_pass"]][row["label"]] = own
    assert len(outputs) == 4 and all(of["base-a"] == of["base-b"] for of in outputs.values())


@pytest.mark.parametrize(("launches", "kinds"), [(True, 1), (False, 4)])
def test_a_server_that_runs_already_is_one_process_for_all_boots(launches: bool, kinds: int) -> None:
    """Of every arm, of a later boot and of a later command: there each boot has a nonce of its own."""
    load = Workload("window", "code", 2, 32)
    engine = SimpleNamespace(flushes=False, launches=launches)
    found = {
        Session.nonce(
            SimpleNamespace(campaign=SimpleNamespace(server=""), journal=SimpleNamespace(epoch=epoch)),
            Cell("window", arm, load, 32, 8, 1, 0),
            SimpleNamespace(engine=engine, boot_id=f"window-b{number}"),
            0,
        )
        for epoch in (1.0, 2.0)
        for number, arm in enumerate((PLAIN, dspark(3)))
    }
    assert len(found) == kinds
