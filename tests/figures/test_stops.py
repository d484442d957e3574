"""Where a drawing can be read off: each stop names the rows of the data table that stand at that place across."""

from __future__ import annotations

import pytest

from workflow.figures.draw import _stops
from workflow.figures.registry import plate
from workflow.figures.style import LAYOUTS

READ_OFF = ("window", "positions", "context-batch", "scaling", "verify-cost", "lanes")
"""Plates over a measured axis: block size, positions, length and batch, concurrency."""


@pytest.mark.parametrize("name", READ_OFF)
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_row_is_read_off_at_a_place_of_its_own(values, name, layout):
    table, sheet = plate(name).table(values), plate(name).draw(values, layout)
    read = [stop.split(":") for stop in _stops(sheet, table).split()]
    assert len(read) == len(sheet.stops) > 1 and len({x for x, _ in read}) == len(read)
    rows = [int(row) for _, found in read for row in found.split(",")]
    assert set(rows) == set(range(len(table.rows)))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_positions_are_read_off_by_their_count(values, layout):
    rows, sheet = plate("positions").table(values).rows, plate("positions").draw(values, layout)
    for stop in sheet.stops:
        assert stop.rows and all(values.facts[rows[at][2].value].value == stop.level for at in stop.rows)
