"""The sweep command from campaign.yaml to files, on the stand-in engine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from engine import csvio, sweep
from engine.backends import embedded
from engine.backends.base import LOST
from engine.bench import session
from engine.bench.session import unwarmed
from tests.measure.conftest import ROOT, SIZES

pytestmark = pytest.mark.usefixtures("fake_engine")


SENTINELS = 2


def run(campaign: Path, name: str, out: Path, *more: str) -> int:
    return sweep.main(["--sweep", name, "--campaign", str(campaign), "--out", str(out), "--quiet", *more])


def every_point(out: Path, name: str) -> list[dict]:
    return csvio.read("points", out / f"sweep_{name}.csv")


def points(out: Path, name: str) -> list[dict]:
    return [row for row in every_point(out, name) if row["stage"] != "sentinel"]


def manifest(path: Path) -> dict:
    return json.loads(path.with_name(path.name.removesuffix(".csv") + ".manifest.json").read_text("utf8"))


@pytest.mark.parametrize("name", ["window", "isl", "concurrency"])
def test_files_and_manifests(campaign, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    assert run(campaign(), name, out) == 0
    kinds = {f"sweep_{name}.csv": "points", f"requests_{name}.csv": "requests", f"steps_{name}.csv": "steps"}
    if name == "window":
        kinds["trace.csv"] = "trace"
    assert sorted(path.name for path in out.iterdir()) == sorted([*kinds, *(file.replace(".csv", ".manifest.json") for file in kinds)])
    for file, kind in kinds.items():
        rows = csvio.read(kind, out / file)
        about = manifest(out / file)
        assert about["rows"] == len(rows) > 0
        assert about["sha256"] == hashlib.sha256((out / file).read_bytes()).hexdigest()
        assert (about["file"], about["kind"]) == (file, kind)
        assert about["lossless"]["compared"] == about["lossless"]["equal"] > 0
        assert about["command"].startswith(f"python -m engine.sweep --sweep {name}")
        assert str(ROOT) not in json.dumps(about)
    ids = [row["run_id"] for row in every_point(out, name)]
    assert len(set(ids)) == len(ids)
    for kind in ("requests", "steps"):
        assert {row["run_id"] for row in csvio.read(kind, out / f"{kind}_{name}.csv")} == set(ids)
    assert len({row["code"] for row in points(out, name)}) == 1


def test_request_rows_add_up_to_their_point(campaign, tmp_path: Path) -> None:
    assert run(campaign(), "window", tmp_path) == 0
    requests = csvio.read("requests", tmp_path / "requests_window.csv")
    steps = csvio.read("steps", tmp_path / "steps_window.csv")
    for point in points(tmp_path, "window"):
        own = [row for row in requests if row["run_id"] == point["run_id"]]
        decode = [row for row in steps if row["run_id"] == point["run_id"] and row["kind"] != "prefill"]
        assert point["total_output_tokens"] == sum(row["osl"] for row in own)
        assert point["decode_tokens"] == sum(row["emitted"] for row in decode) == sum(row["osl"] - 1 for row in own)
        assert point["steps"] == len(decode)
        if point["lane"] == "plain":
            assert point["rounds"] is None and {row["kind"] for row in decode} == {"decode"}
        else:
            assert point["rounds"] == sum(row["rounds"] for row in own)
            assert point["accept_length"] == pytest.approx(1 + sum(row["accepted"] for row in own) / point["rounds"])
            for row in own:
                histogram = [int(count) for count in row["accepted_histogram"].split(";")]
                assert len(histogram) == point["block_size"] + 1
                assert sum(histogram) == row["rounds"] and sum(c * n for c, n in enumerate(histogram)) == row["accepted"]


def test_all_arms_get_the_same_prompts(campaign, tmp_path: Path) -> None:
    assert run(campaign(), "window", tmp_path) == 0
    of_point = {row["run_id"]: row for row in points(tmp_path, "window")}
    prompts: dict[tuple, set] = {}
    for row in csvio.read("requests", tmp_path / "requests_window.csv"):
        if row["run_id"] not in of_point:
            continue
        point = of_point[row["run_id"]]
        prompts.setdefault((point["repeat"], point["content"], point["label"]), set()).add(row["prompt_id"])
    for (repeat, content, _), ids in prompts.items():
        assert ids == prompts[repeat, content, "plain"]
    assert prompts[0, "code", "plain"] != prompts[1, "code", "plain"]


@pytest.mark.parametrize(
    ("fault", "status"), [("crash:dspark", "crash"), ("oom:dspark", "oom"), ("boot:dspark", "crash"), ("hang:dspark", "timeout")]
)
def test_a_cell_that_dies_becomes_a_row(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, status: str) -> None:
    monkeypatch.setenv("FAKE_FAULT", fault)
    monkeypatch.setattr(session, "PATIENCE_FLOOR_S", 1.0)
    monkeypatch.setattr(session, "PATIENCE", 1.0)
    assert run(campaign(stages={"concurrency": SIZES["concurrency"]}), "concurrency", tmp_path) == 0
    rows = points(tmp_path, "concurrency")
    assert [row["status"] for row in rows if row["lane"] == "plain"] == ["ok", "ok"]
    assert [row["status"] for row in rows if row["lane"] == "dspark"] == [status, status]
    note = next(row["note"] for row in rows if row["lane"] == "dspark")
    assert note and "\n" not in note
    # what did not fit is a column of the rows that ran out of memory, of no other
    assert {(row["status"], row.get("oom_asked_bytes")) for row in rows} == {("ok", None), (status, 123 if status == "oom" else None)}


def test_an_arm_that_keeps_dying_is_skipped(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "crash:mtp")
    stages = {"window": {**SIZES["window"], "contents": ["arith", "code", "en"], "repeats": 1}}
    assert run(campaign(stages=stages), "window", tmp_path) == 0
    assert [row["status"] for row in points(tmp_path, "window") if row["lane"] == "mtp"] == ["crash", "crash", "skipped"]


def test_refused_requests_are_rows(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "refuse")
    assert run(campaign(stages={"isl": SIZES["isl"]}), "isl", tmp_path) == 0
    assert {(row["stage"], row["completed"], row["failed"]) for row in points(tmp_path, "isl")} == {("isl", 1, 1), ("teacher_forced", 7, 1)}
    reasons = {row["finish_reason"] for row in csvio.read("requests", tmp_path / "requests_isl.csv") if row["status"] == "failed"}
    assert reasons == {"error: too long"}


@pytest.mark.parametrize("name", ["isl", "window", "concurrency"])
def test_a_boot_that_refuses_its_warm_up_is_no_measurement(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whatever the stage: the first cell of the boot has the reason, another boot is tried once, and no cold cell is measured."""
    monkeypatch.setenv("FAKE_FAULT", "refuse-warm-up:dspark")
    assert run(campaign(stages={name: SIZES[name]}), name, tmp_path) == 0
    rows = points(tmp_path, name)
    assert {row["status"] for row in rows if row["lane"] != "dspark"} == {"ok"}
    own = [row for row in rows if row["lane"] == "dspark"]
    assert {row["status"] for row in own} <= {"rejected", "skipped"} and own[0]["status"] == "rejected"
    assert all(row["output_throughput"] is None for row in own)
    assert all("requests failed: error: too long" in row["note"] for row in own if row["status"] == "rejected")


@pytest.mark.parametrize(
    ("reasons", "status"),
    [
        (["stop", "length"], None),
        (["length", "error: too long"], "rejected"),
        ([None, "length"], "rejected"),
        (["error: HTTP 500: CUDA out of memory. Tried to allocate", "length"], "oom"),
        (["length", f"{LOST}ReadError"], "crash"),
    ],
)
def test_a_failed_warm_up_has_the_class_of_its_reason(reasons: list[str | None], status: str | None) -> None:
    failure = unwarmed([{"finish_reason": reason} for reason in reasons])
    assert (failure.status if failure else None) == status
    assert failure is None or f"1 of {len(reasons)} requests failed" in failure.note


def test_a_lane_that_says_something_else_is_seen(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "differ:dspark")
    assert run(campaign(stages={"isl": SIZES["isl"]}), "isl", tmp_path) == 0
    about = manifest(tmp_path / "sweep_isl.csv")["lossless"]
    assert about["equal"] == 0 < about["compared"]
    assert "dspark-g3" in about["differing"][0]


def test_nothing_is_written_when_no_cell_finished(
    campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_FAULT", "boot")
    out = tmp_path / "out"
    assert run(campaign(), "isl", out) == 2
    assert list(out.iterdir()) == []
    assert "no cell of isl finished" in capsys.readouterr().err


def test_settings_the_engine_refuses_end_the_command(
    campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_FAULT", "config")
    assert run(campaign(), "isl", tmp_path / "out") == 2
    assert capsys.readouterr().err == "engine.sweep: --block-size: 9 is above the trained 7\n"


def test_the_log_holds_every_cell(campaign, tmp_path: Path) -> None:
    log = tmp_path / "deep" / "isl.log"
    assert run(campaign(), "isl", tmp_path / "out", "--log", str(log)) == 0
    assert log.read_text().count("token/s") == len(every_point(tmp_path / "out", "isl"))


def test_json_result(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(campaign(), "isl", tmp_path / "out", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["cost"]["boots"] == 4 + SENTINELS and result["cells_failed"] == 0


def test_no_process_is_left_behind(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    original = embedded.EmbeddedBackend.boot

    def boot(self: embedded.EmbeddedBackend, *args: float) -> dict:
        started.append(self.process.process)
        return original(self, *args)

    monkeypatch.setattr(embedded.EmbeddedBackend, "boot", boot)
    assert run(campaign(), "window", tmp_path) == 0
    assert len(started) == 8 + SENTINELS
    assert all(process.poll() is not None for process in started)
