"""The memory ceiling on a device that is a formula."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.ceiling import Outcome, search

DEVICE = 1_000_000


def device(peak: float, known: bool = True):
    """Static pools take the fraction, work adds `peak` (a share of the device) on top."""
    calls = []

    def probe(label: str, fraction: float) -> Outcome:
        calls.append((label, fraction))
        room = round((1 - fraction) * DEVICE)
        fits = fraction + peak <= 1 + 1e-9
        return Outcome("ok" if fits else "oom", room if known else None, round(peak * DEVICE) if known and fits else None)

    return probe, calls


def test_the_floor_overshoots_and_the_peak_does_not() -> None:
    probe, _ = device(0.07)
    found = search(probe, DEVICE)
    assert found.floor_prediction == 0.99 and found.peak_prediction == 0.93
    status = {attempt.label: attempt.outcome.status for attempt in found.attempts}
    assert status["anchor"] == "ok" and status["floor"] == "oom" and status["peak"] == "ok"
    assert found.fraction == 0.93 and found.bounded


def test_an_anchor_off_the_grid_predicts_from_what_was_booted() -> None:
    probe, calls = device(0.065)
    found = search(probe, DEVICE, anchor=0.859)
    assert calls[0] == ("anchor", 0.85) and found.peak_prediction == 0.93
    assert {one.label: one.outcome.status for one in found.attempts}["peak"] == "ok"


@given(st.floats(0.0, 0.6), st.integers(3, 12))
def test_it_never_claims_more_than_passed_and_never_boots_more_than_allowed(peak: float, boots: int) -> None:
    probe, calls = device(peak)
    found = search(probe, DEVICE, boots=boots)
    assert len(calls) == len({fraction for _, fraction in calls}) <= boots
    if found.fraction is not None:
        assert found.fraction + peak <= 1 + 1e-9
        if found.bounded:
            assert found.fraction >= 0.99 or found.fraction + 0.0151 + peak > 1


def test_an_anchor_that_fails_is_searched_below() -> None:
    probe, _ = device(0.4)
    found = search(probe, DEVICE, boots=10)
    assert found.attempts[0].outcome.status == "oom"
    assert found.fraction == pytest.approx(0.6, abs=0.011)


def test_without_readings_it_bisects() -> None:
    probe, _ = device(0.07, known=False)
    found = search(probe, DEVICE, boots=10)
    assert found.floor_prediction is None and found.fraction == 0.93


def test_nothing_fits() -> None:
    probe, calls = device(2.0)
    found = search(probe, DEVICE, boots=5)
    assert found.fraction is None and len(calls) == 5
