"""What single plates draw and list beside their curves and bars, and that they leave it out where the facts are missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.figures import synthetic
from workflow.figures.plates.fraction_map import winner
from workflow.figures.plates.noise import effects
from workflow.figures.plates.positions import fitted
from workflow.figures.registry import plate
from workflow.figures.scale import Scale
from workflow.figures.sheet import Area, Panel, Sheet, Words
from workflow.figures.style import AXIS, INK2, LAYOUTS, WIDE

papers = pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)


def texts(sheet: Sheet) -> list[str]:
    return [item.what.content for item in sheet.items if isinstance(item.what, Words)]


def frames(sheet: Sheet, edge) -> list[Area]:
    """Bars without a face."""
    return [item.what for item in sheet.items if isinstance(item.what, Area) and item.what.face is None and item.what.edge is edge]


def width(bar: Area) -> float:
    return max(x for x, _ in bar.points) - min(x for x, _ in bar.points)


def test_the_fitted_line_goes_from_end_to_end_by_its_floor_and_slope(values):
    floor, slope = (values.get(f"positions.{part}_ms").value for part in ("floor", "slope"))
    line = fitted(values, 1, 256)
    assert line[0] == (1, pytest.approx(floor + slope)) and line[-1] == (pytest.approx(256), pytest.approx(floor + 256 * slope))
    assert all(ms == pytest.approx(floor + slope * at) for at, ms in line)
    assert fitted(values, 4, 4) == [] and fitted(synthetic.values(without=("positions.slope",)), 1, 256) == []


def test_what_of_the_fitted_line_lies_under_zero_is_left_out(values):
    sunk = values.facts | {"positions.floor_ms": replace(values.get("positions.floor_ms"), value=-5.0)}
    line = fitted(replace(values, facts=sunk), 1, 256)
    assert line and line[0][0] > 1 and min(ms for _, ms in line) >= 0


@papers
def test_floor_and_slope_are_named_with_their_line(values, layout):
    names = {"@@floor@@", "@@slope@@"}
    assert names <= set(texts(plate("positions").draw(values, layout)))
    assert not names & set(texts(plate("positions").draw(synthetic.values(without=("positions.floor",)), layout)))


@papers
def test_a_second_bar_is_as_long_as_the_whole_without_the_part(values, layout):
    bars = frames(plate("loss").draw(values, layout), AXIS)
    wholes = [values.get(f"loss.whatif.{part}_ms").value for part in ("prefill", "step", "accept")]
    assert [width(bar) / width(bars[0]) for bar in bars] == pytest.approx([whole / wholes[0] for whole in wholes])
    assert frames(plate("loss").draw(synthetic.values(without=("loss.whatif.",)), layout), AXIS) == []


@papers
def test_time_given_up_is_dashed_and_on_the_scale_of_the_stages(values, layout):
    bars = frames(plate("search-stages").draw(values, layout), INK2)
    minutes = [values.get(f"shape.{what}_minutes").value for what in ("rejected", "thrown_away")]
    assert all(bar.dash for bar in bars) and width(bars[0]) / width(bars[1]) == pytest.approx(minutes[0] / minutes[1])
    without = synthetic.values(without=("shape.rejected_minutes", "shape.thrown_away_minutes"))
    assert frames(plate("search-stages").draw(without, layout), INK2) == []
    assert len(plate("search-stages").table(values).rows) == len(plate("search-stages").table(without).rows) + 2


@papers
def test_the_ring_says_what_it_marks(values, layout):
    assert "@@ringed@@" in texts(plate("fraction-map").draw(values, layout))
    assert "@@ringed@@" not in texts(plate("fraction-map").draw(synthetic.values(without=("prologue.best.",)), layout))


def test_a_run_off_the_map_is_not_ringed(values):
    panel = Panel(Sheet(WIDE, 300), 30, 30, 600, 200, Scale(1, 2, log=True), Scale(1, 2, log=True))
    assert winner(panel, values) is None


@pytest.mark.parametrize("family", ("window.all.mtp", "modes", "isl", "osl", "lanes", "search", "knobs", "cache.shared", "cache.random"))
def test_each_comparison_has_its_effect_beside_the_noise(values, family):
    assert any(fact.startswith(f"{family}.") for _, fact in effects(values))
    assert not any(fact.startswith(f"{family}.") for _, fact in effects(synthetic.values(without=(f"{family}.",))))


def test_the_gate_lists_what_a_score_hides_for_every_configuration(values):
    listed = plate("gate").table(values).facts()
    assert {f"gate.{role}.{part}" for role in ("base", "candidate", "numeric") for part in ("truncated", "degenerate")} <= listed
