from __future__ import annotations

import math
import random

import pytest

from engine.bench.compare import LEAST_DF, Spread, compare, t_cdf, t_quantile


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


@pytest.mark.parametrize("df", range(1, 9))
def test_few_pairs_have_a_range_and_no_interval(df: int) -> None:
    found = compare([0.1, 0.3], Spread(0.02, df))
    assert (found.lo is not None) == (found.hi is not None) == (df >= LEAST_DF)
    assert (found.smallest, found.largest) == (pytest.approx(math.exp(0.1)), pytest.approx(math.exp(0.3)))
    assert ("over the pairs" in found.reach) == (df < LEAST_DF)


@pytest.mark.parametrize("shift", [0.0, 0.5, 5.0, 50.0])
def test_a_p_value_is_a_share(shift: float) -> None:
    assert all(0.0 <= compare([shift] * 3, Spread(0.01, df)).p <= 1.0 for df in range(1, 40))


@pytest.mark.parametrize(("pairs", "repeats", "candidates"), [(16, 4, 8), (16, 6, 1), (4, 2, 7), (6, 3, 1)])
@pytest.mark.parametrize("wider", [1.0, 2.0, 4.0])
def test_false_verdicts_are_as_rare_as_promised(pairs: int, repeats: int, candidates: int, wider: float) -> None:
    """No candidate differs from the base. They scatter as A/A pairs do, or more: about one verdict in twenty is false, never many."""
    draw = random.Random(3)
    rounds, alarms, pooled = 800, 0, 0
    for _ in range(rounds):
        aa = [draw.gauss(0, 0.02) for _ in range(pairs)]
        groups = [[draw.gauss(0, 0.02 * wider) for _ in range(repeats)] for _ in range(candidates)]
        alarms += compare(groups[0], Spread.floored(groups, aa)).verdict != "not resolved"
        pooled += compare(groups[0], Spread.pooled([aa, *groups])).verdict != "not resolved"
    assert 0.005 <= alarms / rounds <= 0.075
    # the rule that this one replaced
    assert wider < 4 or candidates > 1 or pooled / rounds > 0.1


@pytest.mark.parametrize(("own", "aa", "df"), [([[0.1, -0.1]] * 3, [0.01, -0.01], 3), ([[0.01, -0.01]] * 3, [0.1, 0.0, -0.1], 2), ([[0.3]], [0.1, -0.1], 1), ([[0.1, 0.2]], [], 1)])
def test_the_larger_spread_counts_with_its_own_df(own: list, aa: list, df: int) -> None:
    found = Spread.floored(own, aa)
    assert found.df == df and found.sd == max(one.sd for one in (Spread.pooled(own), Spread.pooled([aa])) if one.df)


def test_what_is_detectable_is_detected_most_of_the_time() -> None:
    draw = random.Random(4)
    spread = Spread(0.02, 10)
    effect = math.log(compare([0.0, 0.0, 0.0], spread).minimum_detectable)
    hits = sum(compare([draw.gauss(effect, 0.02) for _ in range(3)], spread).verdict == "better" for _ in range(500))
    assert 0.7 <= hits / 500 <= 0.95
