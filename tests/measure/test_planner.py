from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.planner import Part, allot, duration_s
from engine.bench.repeats import MOST, grown, repeats_of
from engine.bench.stages import Curve, Knobs, Search
from engine.config import ConfigError

PARTS = [Part("aa", 60, droppable=False), Part("window", 100, droppable=False), Part("knobs", 50), Part("heads", 30), Part("lanes", 40)]
ORDER = ("heads", "lanes", "knobs", "aa")


def test_durations() -> None:
    assert duration_s("90s") == 90 and duration_s("20m") == 1200 and duration_s("1.5h") == 5400
    for bad in ("", "20", "0m", "m", "-3m", "20 minutes"):
        with pytest.raises(ConfigError, match="--budget"):
            duration_s(bad)


def test_parts_are_given_up_in_the_printed_order() -> None:
    assert allot(PARTS, ORDER, None).dropped == ()
    assert allot(PARTS, ORDER, 280).dropped == ()
    assert allot(PARTS, ORDER, 251).dropped == ("heads",)
    least = allot(PARTS, ORDER, 10)
    assert least.dropped == ("heads", "lanes", "knobs") and least.kept == ("aa", "window")
    assert any("cut short" in line for line in least.lines(10, PARTS))


NAMES = ("aa", "window", "knobs", "curve", "confirm")


@given(budget=st.floats(0, 5000), costs=st.tuples(*[st.integers(1, 60)] * 4), asked=st.integers(1, 4))
def test_a_budget_that_is_left_over_becomes_repeats_and_is_never_passed(budget: float, costs: tuple[int, ...], asked: int) -> None:
    stage = Search(window_repeats=asked, confirm_pairs=asked, knobs=Knobs(repeats=asked), curve=Curve(repeats=asked))
    price = dict(zip(("confirm", "window", "knobs", "curve"), costs, strict=True))

    def seconds(one: Search) -> float:
        return sum(price[name] * count for name, count in repeats_of(one, NAMES).items())

    before, after = repeats_of(stage, NAMES), repeats_of(larger := grown(stage, NAMES, seconds, budget), NAMES)
    assert list(before) == ["confirm", "window", "knobs", "curve"] and all(asked <= count <= MOST * asked for count in after.values())
    assert seconds(larger) <= max(budget, seconds(stage)) and larger.aa_pairs == stage.aa_pairs
    left = budget - seconds(larger)
    assert all(count == MOST * asked or price[name] > left for name, count in after.items()), "one more of any would not have fitted"
    assert grown(stage, NAMES, seconds, None) is stage
