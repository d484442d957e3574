"""Axis transforms, ticks, labels that make room for one another."""

from __future__ import annotations

from itertools import pairwise

import pytest

from workflow.figures.scale import Scale, around, from_zero, log_over, nice_ticks, round_log_ticks, thin, tick_text
from workflow.figures.sheet import clear_side, spread


def test_ends_map_to_zero_and_one():
    for scale in (Scale(2, 8), Scale(2, 8, log=True)):
        assert scale(2) == pytest.approx(0) and scale(8) == pytest.approx(1)
    assert Scale(1, 16, log=True)(4) == pytest.approx(0.5)


@pytest.mark.parametrize("values", [[1.0], [0.0], [-3.0], [5.0, 5.0], [1e-9, 1e9]])
def test_no_scale_is_empty(values):
    assert from_zero(values).hi > 0
    assert around(values).hi > around(values).lo
    assert log_over(values).hi > log_over(values).lo > 0


@pytest.mark.parametrize("top, ticks", [(3.5, [0, 1, 2, 3]), (1.8, [0, 0.5, 1.0, 1.5]), (2400, [0, 500, 1000, 1500, 2000]), (0.004, [0, 0.001, 0.002, 0.003, 0.004])])
def test_nice_ticks(top, ticks):
    assert nice_ticks(Scale(0, top)) == ticks


def test_round_log_ticks():
    assert round_log_ticks(Scale(4, 45, log=True)) == [5, 10, 20]


def test_thin_keeps_the_ends():
    levels = [64, 128, 256, 512, 1024, 2048, 4096]
    assert thin(levels, 3) == [64, 512, 4096]
    assert thin(levels, 9) == levels
    assert thin([1, 2], 2) == [1, 2]
    assert thin([1, 2, 4, 8, 16, 32], 3)[0] == 1 and thin([1, 2, 4, 8, 16, 32], 3)[-1] == 32


def test_ticks_of_one_axis_have_the_same_decimals():
    assert [tick_text(t, (0, 0.5, 1)) for t in (0, 0.5, 1)] == ["0.0", "0.5", "1.0"]
    assert tick_text(2000) == "2,000"


@pytest.mark.parametrize("wanted", [[10, 11, 12], [95, 99, 100], [0, 0, 0], [50], []])
def test_spread_keeps_distance_order_and_bounds(wanted):
    placed = spread(wanted, 10, 0, 100)
    ordered = sorted(placed)
    assert all(b - a >= 9.999 for a, b in pairwise(ordered))
    assert sorted(range(len(wanted)), key=lambda i: wanted[i]) == sorted(range(len(placed)), key=lambda i: placed[i])
    assert all(0 <= p <= 100 for p in placed)


def test_clear_side_is_the_roomier_one():
    assert clear_side(50, [40], 0, 100) == 1
    assert clear_side(50, [55], 0, 100) == -1
