"""Ctrl-C in a search: once ends it as a used-up budget does, twice aborts it; and a resumed one asks whether the machine is the same."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import csvio, search
from engine.bench import command
from engine.bench.session import Session
from engine.bench.verdicts import TIME
from tests.measure.conftest import SIZES

SIZE = {**SIZES["search"], "aa_pairs": 3, "window_repeats": 3, "confirm_pairs": 2, "passes": 1, "curve": {"levels": [1], "repeats": 1}}


def signals_at(monkeypatch: pytest.MonkeyPatch, block: int, *numbers: signal.Signals) -> None:
    """These signals reach this process before the block that is the `block`th to run."""
    seen = []

    def run_block(self: Session, one: object, real=Session.run_block) -> None:
        seen.append(one)
        if len(seen) == block:
            for number in numbers:
                signal.raise_signal(number)
        real(self, one)

    monkeypatch.setattr(Session, "run_block", run_block)


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("block", "number"), [(2, signal.SIGINT), (6, signal.SIGTERM), (8, signal.SIGINT)])
def test_once_publishes_what_there_is_and_resuming_measures_the_rest(
    campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, number: signal.Signals
) -> None:
    path, out, log = campaign(stages={"search": SIZE}), tmp_path / "out", tmp_path / "log"
    words = ["--campaign", str(path), "--out", str(out), "--quiet", "--log", str(log)]
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
    with monkeypatch.context() as patch:
        signals_at(patch, block, number)
        assert search.main(words) == 130
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)] == handlers
    about = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert about["stopped"] is True and "curve" in about["not_measured"] and about["cut_short"]
    for one in about["candidates"]:
        assert one["minimum_detectable"] > 1 and one["verdict"] in ("better", "worse", "not resolved")
    first = {row["run_id"] for row in csvio.read("points", out / "search.csv") if row["stage"] in ("aa", "window")}
    assert search.main([*words, "--resume", "interrupted"]) == 0
    whole = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert "stopped" not in whole and "cut_short" not in whole and {one["n"] for one in whole["candidates"]} == {3}
    rows = csvio.read("points", out / "search.csv")
    assert first <= {row["run_id"] for row in rows} and any(row["label"].startswith("sentinel-resume") for row in rows)
    assert "of the time that it took when this measurement began" in log.read_text("utf8")


@pytest.mark.usefixtures("fake_engine")
def test_twice_aborts_and_the_journal_stays(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = campaign(stages={"search": SIZE}), tmp_path / "out"
    signals_at(monkeypatch, 3, signal.SIGINT, signal.SIGINT)
    assert search.main(["--campaign", str(path), "--out", str(out), "--quiet"]) == 130
    assert "nothing was written" in capsys.readouterr().err and not list(out.glob("*.csv"))
    assert (tmp_path / "out.journal/search.jsonl").read_text("utf8").count('"closed"') == 2


@pytest.mark.parametrize(("first", "now", "says"), [(4.0, 4.2, "sentinel: a token takes 1.05"), (4.0, 5.0, "WARNING: a token takes 1.25"), (4.0, 3.0, "WARNING: a token takes 0.75"), (None, 4.0, "nothing to compare"), (4.0, None, "nothing to compare")])
def test_a_resumed_measurement_says_how_far_the_machine_has_moved(first: float | None, now: float | None, says: str) -> None:
    def cell(value: float | None) -> dict:
        return {"kind": "cell", "stage": "sentinel", "point": {"stage": "sentinel", "status": "ok" if value else "oom", TIME: value}}

    said, points = [], []
    session = SimpleNamespace(
        journal=SimpleNamespace(earlier=[{"kind": "head"}, cell(first)]),
        rows=SimpleNamespace(points=points),
        run=lambda blocks: points.append(cell(now)["point"]),
        progress=SimpleNamespace(say=said.append),
        tolerance=0.1,
        attempt=1,
    )
    command.resumed(session)
    assert len(said) == 1 and says in said[0]
