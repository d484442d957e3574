"""Drifts injected into the derivation, one at a time: each stops it with one line, and nothing is written.

Those of the page stand in tests/page/test_drifts.py; the two tables together are the injected drifts of the project.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from workflow.derive import registry
from workflow.derive.__main__ import main
from workflow.derive.facts import measures
from workflow.derive.registry import Definition


@dataclass(frozen=True)
class Drift:
    name: str
    template: str
    """The fact that is put in place of, or beside, the good ones."""
    function: Callable
    told: str
    kind: str = "ratio"
    unit: str = ""
    prediction: bool = False


def row_of_another_content(read, content):
    """accept length of code, whatever the key says"""
    return measures.accept_length(read.requests("window", content="code", arm="g3"))


def row_of_another_arm(read, content, arm):
    """step of the block size beside it"""
    return measures.per_step(read.points("window", content=content, arm="g4"), "step_ms")


def row_of_another_level(read, lane, concurrency):
    """throughput of the batch of four"""
    return measures.output_throughput(read.points("concurrency", lane=lane, max_concurrency=4))


def time_in_place_of_rate(read, content, arm):
    """time per token, sold as tokens/s"""
    return read[f"window.{content}.{arm}.tpot_ms"]


def step_in_place_of_token(read, content):
    """time a step, sold as time a token"""
    return read[f"window.{content}.g3.step_ms"]


def a_ratio_with_a_unit(read):
    """tokens a round over a step: no plain number"""
    return read["window.code.g3.emitted_per_round"] / read["window.code.g3.step_ms"]


def tokens_plus_time(read):
    """tokens a round and a time, added"""
    return read["window.code.g3.emitted_per_round"] + read["window.code.g3.step_ms"]


def cancelling(read, content):
    """throughput predicted from itself: tokens over time, against tokens over time"""
    rows = read.requests("window", content=content, arm="g3")
    time = rows.sum("e2e_ms") - rows.sum("ttft_ms")
    predicted = measures.emitted_per_round(rows) * rows.sum("rounds") / time
    return predicted / (measures.decode_tokens(rows) / time) - 1


def half_a_request(read):
    """a count that is not whole"""
    return read["run.requests"] / 7919


DRIFTS = [
    Drift("row of another content", "test.{content}.accept", row_of_another_content, "reads rows of content code, but its key says content", "length", "token/round"),
    Drift("row of another arm", "test.{content}.{arm}.step", row_of_another_arm, "reads rows of arm g4, but its key says arm", "duration", "ms/step"),
    Drift("row of another level", "test.{lane}.c{concurrency}", row_of_another_level, "reads rows of max_concurrency 4, but its key says", "rate", "token/s"),
    Drift("unit swap: a time for a rate", "test.{content}.{arm}.rate", time_in_place_of_rate, "is not token/s", "rate", "token/s"),
    Drift("unit swap: a step for a token", "test.{content}.tpot", step_in_place_of_token, "is not ms/token", "duration", "ms/token"),
    Drift("unit swap: a ratio that is none", "test.ratio", a_ratio_with_a_unit, "test.ratio: "),
    Drift("unit swap: unlike things added", "test.sum", tokens_plus_time, "", "length", "token/round"),
    Drift("identity presented as a prediction", "test.{content}.gap", cancelling, "its inputs cancel against the measurement", "percent", "percent", True),
    Drift("a count that is not whole", "test.count", half_a_request, "counts are whole", "count"),
    Drift("a key registered twice", "window.decode_ms", half_a_request, "registered by", "duration", "ms/step"),
]  # fmt: skip


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: drift.name)
def test_a_drift_stops_the_derivation(folder, tmp_path, capsys, monkeypatch, drift):
    definition = Definition(drift.template, drift.function, drift.kind, drift.unit, prediction=drift.prediction)
    monkeypatch.setattr(registry, "FACTS", [*registry.FACTS, definition])
    code = main(["--campaign", str(folder), "--out", str(tmp_path / "out")])
    err = capsys.readouterr().err
    assert code in (1, 2) and err.startswith("derive: ") and err.count("\n") == 1 and drift.told in err, err
    assert not (tmp_path / "out").exists()


def test_a_gap_cannot_hide_that_it_is_a_prediction():
    with pytest.raises(ValueError, match="a gap is that of a prediction"):
        registry.fact("test.gap", kind="percent")


def test_fifty_injected_drifts_in_all():
    from tests.page.test_drifts import DRIFTS as OF_THE_PAGE

    assert len({drift.name for drift in (*DRIFTS, *OF_THE_PAGE)}) == len(DRIFTS) + len(OF_THE_PAGE) >= 50
