from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.compare import Spread, compare
from engine.bench.multiplicity import ASKED, BOOTSTRAP, false_alarms, holm, is_alarm, too_few, wilson
from engine.bench.stages import FULL


def test_holm_on_a_known_family() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_and_keeps_their_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(value <= one <= 1 for value, one in zip(values, adjusted, strict=True))
    ranked = sorted(range(len(values)), key=lambda i: values[i])
    assert all(adjusted[a] <= adjusted[b] for a, b in itertools.pairwise(ranked))


@given(st.integers(1, 500), st.data())
def test_wilson_contains_the_share(n: int, data) -> None:
    hits = data.draw(st.integers(0, n))
    lo, hi = wilson(hits, n)
    assert 0 <= lo <= hits / n <= hi <= 1


def test_enough_comparisons_from_four_pairs_and_few_alarms() -> None:
    draw = random.Random(4)
    found = false_alarms([draw.gauss(0, 0.02) for _ in range(4)], (2, 3))
    assert found.comparisons >= 40 and found.pairs == 4
    assert found.lo <= found.rate <= found.hi <= 1 and found.rate < 0.3


def test_relabelling_the_same_pairs_does_not_narrow_the_interval() -> None:
    """Sixteen times the comparisons from one pair more: the interval follows the pairs."""
    four, five = (false_alarms([0.01, -0.02, 0.015, 0.005, -0.01][:n], (2,)) for n in (4, 5))
    assert five.comparisons > 3 * four.comparisons and four.independent == five.independent == 2
    assert four.hi - four.lo > 0.5 and five.hi - five.lo > 0.5


def test_the_pairs_of_full_make_an_interval_that_says_something() -> None:
    """Sixteen pairs: thousands of comparisons, and an interval of the pairs' own that neither touches certainty nor ignorance."""
    search = FULL["search"]
    draw = random.Random(1)
    found = false_alarms([draw.gauss(0, 0.02) for _ in range(search.aa_pairs)], (search.window_repeats, search.confirm_pairs))
    assert found.interval == BOOTSTRAP and found.comparisons >= 40
    assert 0 <= found.lo <= found.rate <= found.hi and found.hi - found.lo < 0.15 and found.hi < 0.2
    again = random.Random(1)
    assert found == false_alarms([again.gauss(0, 0.02) for _ in range(search.aa_pairs)], (search.window_repeats, search.confirm_pairs))


def test_a_comparison_of_few_pairs_is_judged_as_a_candidate_would_be() -> None:
    draw = random.Random(2)
    for _ in range(200):
        chosen = [draw.gauss(0.01, 0.01) for _ in range(3)]
        spread = Spread.pooled([chosen, [draw.gauss(0, 0.01) for _ in range(5)]])
        assert is_alarm(chosen, spread) == (compare(chosen, spread).verdict != "not resolved")


@given(st.lists(st.floats(-0.2, 0.2), min_size=2, max_size=6), st.sets(st.integers(1, 6), min_size=1, max_size=2))
def test_swapping_every_label_changes_nothing(values: list[float], sizes: set[int]) -> None:
    one, other = false_alarms(values, tuple(sizes)), false_alarms([-value for value in values], tuple(sizes))
    assert one == other


def test_one_pair_says_nothing() -> None:
    assert false_alarms([0.01], (2,)) is None


@pytest.mark.parametrize(("pairs", "sizes", "made"), [(2, (2, 3), 2), (2, (4, 6), 0), (4, (2, 3), None)])
def test_fewer_comparisons_than_asked_are_said(pairs: int, sizes: tuple[int, int], made: int | None) -> None:
    """A/A that a budget cut to two pairs: one relabelling and its mirror image, or no set of that size at all."""
    said = too_few(false_alarms([0.01, -0.02, 0.015, 0.005][:pairs], sizes), pairs)
    assert said is None if made is None else f" {made} relabelled comparisons from {pairs} pairs of boots, {ASKED} are asked" in said


def test_a_machine_with_two_speeds_raises_no_alarm_that_the_spread_does_not_show() -> None:
    assert false_alarms([0.5, -0.5, 0.5, -0.5], (2, 3)).rate < 0.35
