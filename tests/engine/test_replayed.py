"""Accepted counts of a measured campaign, played back in a model that accepts nothing by itself."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from engine.bench import bandwidth
from engine.bench.replayed import AcceptanceTrace, ReplayedAcceptance, read_trace
from engine.bench.verify_cost import Plan, Variant, measure
from engine.config import ConfigError

from .conftest import boot, prompts, requests

ARCHIVED = Path(__file__).resolve().parents[2] / "workflow" / "campaigns" / "xeon-2core"


def test_a_trace_is_the_rounds_of_the_archived_cells():
    trace = read_trace(ARCHIVED, 3)
    assert len(trace.counts) > 500 and set(trace.counts) == {0, 1, 2, 3}
    assert 1.5 < trace.tokens_per_round < 4 and trace.source == "xeon-2core/steps_window.csv"
    assert read_trace(ARCHIVED, 3).counts == trace.counts
    narrow = read_trace(ARCHIVED, 1)
    assert set(narrow.counts) == {0, 1} and narrow.tokens_per_round < trace.tokens_per_round


def test_faults_name_the_file(tmp_path):
    with pytest.raises(ConfigError, match=r"sweep_window.csv: No such file"):
        read_trace(tmp_path, 3)
    shutil.copy(ARCHIVED / "sweep_window.csv", tmp_path)
    with pytest.raises(ConfigError, match=r"steps_window.csv: No such file"):
        read_trace(tmp_path, 3)
    text = gzip.decompress((ARCHIVED / "steps_window.csv.gz").read_bytes())
    (tmp_path / "steps_window.csv").write_bytes(text)
    assert read_trace(tmp_path, 3).counts == read_trace(ARCHIVED, 3).counts
    with pytest.raises(ConfigError, match="hold no round of lane dspark with block size 15"):
        read_trace(tmp_path, 15)
    header, *lines = text.decode().splitlines()
    (tmp_path / "steps_window.csv").write_text("\n".join([header, *(line.replace(",round,", ",wrong,") for line in lines)]))
    with pytest.raises(ConfigError, match="'wrong'"):
        read_trace(tmp_path, 3)


def test_rounds_commit_what_the_trace_says(tiny):
    counts = (0, 3, 1, 2, 2)
    with boot(tiny, "dspark", 3) as engine:
        engine.accept = ReplayedAcceptance(AcceptanceTrace(3, counts, "here"))
        record, = engine.generate(requests(prompts(1), max_tokens=1 + 2 * sum(c + 1 for c in counts)))
        histogram = record.accepted_histogram
    assert record.rounds == 10 and histogram == [2, 2, 4, 2]


def test_token_rows_are_simulated_where_acceptance_was_replayed(tiny, monkeypatch):
    monkeypatch.setattr(bandwidth, "read_gb_s", lambda: 10.0)
    monkeypatch.setattr("engine.engine.weights_folder", lambda config: config.weights)
    monkeypatch.setattr("engine.bench.rig.weights_folder", lambda config: config.weights)
    settings = {"widths": (1,), "batches": (1, 2), "context": 20, "repeats": 2, "inner": 1, "gamma": 3, "steps": 2, "rounds": 5}
    rows = measure(Plan((Variant("random-25m"),), acceptance=ARCHIVED, **settings), tiny)
    tokens = {(row.lane, row.batch): row for row in rows if row.quantity == "token"}
    assert set(tokens) == {(lane, batch) for lane in ("plain", "dspark") for batch in (1, 2)}
    for (lane, batch), row in tokens.items():
        assert row.samples == 2 and 0 < row.min_ms <= row.max_ms
        if lane == "plain":
            assert row.status == "measured" and row.tokens_per_round is None and row.acceptance is None
        else:
            counts = read_trace(ARCHIVED, 3).counts
            assert row.status == "simulated" and row.acceptance.startswith("xeon-2core/") and 1 <= row.tokens_per_round <= 4
            assert min(counts) <= row.tokens_per_round - 1 <= max(counts), batch
    assert not any(row.quantity == "token" for row in measure(Plan((Variant("trained"),), acceptance=ARCHIVED, **settings), tiny))
