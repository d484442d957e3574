from __future__ import annotations

import pytest

from engine.bench.planner import Part, allot, duration_s
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
