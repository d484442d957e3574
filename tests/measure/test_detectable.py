"""What a stage can resolve is told of the quantity that it compares."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench import detectable
from engine.bench.compare import Spread, detectable_ratio
from engine.bench.stages import FULL, PARTS
from engine.bench.verdicts import TIME
from engine.search import boots_of

WIDE, NARROW = (0.2, -0.25, 0.22, -0.18), (0.01, -0.012, 0.011, -0.009)


def aa(times: tuple[float, ...], rates: tuple[float, ...]) -> list[dict]:
    """A/A points whose log ratios are these, of time per token and of throughput."""
    points = []
    for boot, (time, rate) in enumerate(zip(times, rates, strict=True)):
        common = {"stage": "aa", "status": "ok", "boot": boot}
        points.append({**common, "label": "base-a", TIME: 4.0, detectable.RATE: 250.0})
        points.append({**common, "label": "base-b", TIME: 4.0 * math.exp(time), detectable.RATE: 250.0 * math.exp(rate)})
    return points


@pytest.mark.parametrize("stage", [*boots_of(FULL["search"])])
def test_every_stage_is_planned_with_the_spread_of_what_it_compares(stage: str) -> None:
    """Time per token scatters here twenty times as much as throughput, or the other way round: only one of the two may count."""
    own = {detectable.RATE: 0, TIME: 1}[detectable.compared(stage)]
    for rates, times in ((NARROW, WIDE), (WIDE, NARROW)):
        found = detectable.planned(aa(times, rates), {stage: 2})[stage]
        assert found == pytest.approx(detectable_ratio(Spread.pooled([(rates, times)[own]]), 2))


def test_the_stages_that_compare_throughput_are_stages() -> None:
    assert set(detectable.BY_RATE) <= set(PARTS)
    assert {detectable.compared(stage) for stage in ("window", "confirm", "heads")} == {TIME}


@given(st.lists(st.floats(-0.5, 0.5), min_size=2, max_size=6), st.integers(1, 8))
def test_more_boots_never_resolve_less(logs: list[float], boots: int) -> None:
    points = aa(tuple(logs), tuple(logs))
    found = [detectable.planned(points, {"cache": count})["cache"] for count in (boots, boots + 1)]
    assert found[0] >= found[1] >= 1


def test_the_noise_is_of_as_many_passes_as_a_stage_compares() -> None:
    """A second pass that undoes the first: nothing is left of the mean, which only the confirmation compares."""
    points = [
        {"stage": "aa", "status": "ok", "boot": boot, "in_boot_pass": turn, "label": label, TIME: 4.0 * math.exp(shift), detectable.RATE: 9.0 * math.exp(shift)}
        for boot in range(3)
        for turn in (0, 1)
        for label, shift in (("base-a", 0.0), ("base-b", 0.1 if turn == 0 else -0.1))
    ]
    for stage in (*PARTS, "window"):
        assert detectable.aa_logs(points, stage) == pytest.approx([0.1] * 3)
    assert detectable.aa_logs(points, "confirm") == pytest.approx([0.0] * 3)


def test_nothing_is_planned_where_the_spread_is_unknown() -> None:
    points = aa(NARROW, NARROW)
    for point in points:
        point[detectable.RATE] = None
    assert set(detectable.planned(points, {"cache": 2, "window": 2})) == {"window"}
    assert detectable.planned(points[:2], {"window": 2}) == {}


def test_the_planned_figure_stands_beside_the_achieved_one() -> None:
    assert detectable.achieved_line("knobs", 1.05, 1.034) == "knobs: differences of output_throughput from 5.0 % could be resolved (3.4 % was planned)"
    assert detectable.achieved_line("heads", 1.05, None) == "heads: differences of mean_tpot_ms from 5.0 % could be resolved"
