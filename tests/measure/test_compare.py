from __future__ import annotations

import math
import random

import pytest

from engine.bench.compare import Spread, compare, t_cdf, t_quantile


# two-sided 95 % and one-sided 95 % points as printed in any table of Student's t
@pytest.mark.parametrize(
    ("probability", "df", "value"), [(0.975, 1, 12.706), (0.975, 3, 3.182), (0.975, 10, 2.228), (0.95, 5, 2.015), (0.975, 200, 1.972)]
)
def test_t_quantile(probability: float, df: int, value: float) -> None:
    assert t_quantile(probability, df) == pytest.approx(value, abs=6e-4)
    assert t_cdf(-value, df) == pytest.approx(1 - probability, abs=1e-4)


def test_spread_pools_within_groups_only() -> None:
    spread = Spread.pooled([[0.0, 0.2], [1.0, 1.2], [5.0]])
    assert spread.df == 2
    assert spread.sd == pytest.approx(math.sqrt(0.02))


@pytest.mark.parametrize(("shift", "verdict"), [(0.2, "better"), (-0.2, "worse"), (0.005, "not resolved")])
def test_verdicts(shift: float, verdict: str) -> None:
    found = compare([shift - 0.01, shift, shift + 0.01], Spread(0.02, 8))
    assert found.verdict == verdict
    assert found.lo < found.ratio < found.hi
    assert found.ratio == pytest.approx(math.exp(shift))


def test_nothing_is_resolved_without_a_spread() -> None:
    assert compare([0.5], Spread.pooled([[0.5]])).verdict == "not resolved"


def test_false_alarms_are_as_rare_as_promised() -> None:
    draw = random.Random(3)
    alarms = 0
    for _ in range(400):
        aa = [draw.gauss(0, 0.02) for _ in range(4)]
        candidates = [[draw.gauss(0, 0.02) for _ in range(2)] for _ in range(7)]
        spread = Spread.pooled([aa, *candidates])
        alarms += compare(candidates[0], spread).verdict != "not resolved"
    assert 0.02 <= alarms / 400 <= 0.09


def test_what_is_detectable_is_detected_most_of_the_time() -> None:
    draw = random.Random(4)
    spread = Spread(0.02, 10)
    effect = math.log(compare([0.0, 0.0, 0.0], spread).minimum_detectable)
    hits = sum(compare([draw.gauss(effect, 0.02) for _ in range(3)], spread).verdict == "better" for _ in range(500))
    assert 0.7 <= hits / 500 <= 0.95
