"""The lanes' frontier: what is drawn of lanes and loads that not all were measured."""

import pytest

from tests.figures import synthetic
from workflow.figures.plate import Missing
from workflow.figures.plates import front
from workflow.figures.sheet import Marks, Words
from workflow.figures.style import LAYOUTS

PLACES = (1, 2, 3)


def words(sheet):
    return [item.what.content for item in sheet.items if isinstance(item.what, Words)]


def without(*lanes, places=PLACES):
    return synthetic.values(without=tuple(f"lanes.front.t{place}.{lane}." for lane in lanes for place in places))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_each_lane_is_named_beside_a_mark_of_its_own_and_each_load_once(layout):
    sheet = front.draw(synthetic.values(), layout)
    assert [text for text in words(sheet) if text.strip("@") in front.LANES] == [f"@@{lane}@@" for lane in front.LANES]
    assert [text for text in words(sheet) if text in ("1", "4", "16")] == ["1", "4", "16"]
    looks = {(item.what.shape, item.what.face) for item in sheet.items if isinstance(item.what, Marks)}
    assert len(looks) == len(front.LANES)


def test_a_lane_that_was_not_measured_is_not_there():
    values = without("lookup")
    assert "@@lookup@@" not in words(front.draw(values, LAYOUTS[0])) and len(front.table(values).rows) == 12


def test_a_lane_stands_where_it_was_measured():
    values = without("mtp", places=(3,))
    assert len(front.curves(values)["mtp"]) == 2 and len(front.table(values).rows) == 14
    assert "@@mtp@@" in words(front.draw(values, LAYOUTS[0]))


def test_one_lane_is_no_comparison():
    assert isinstance(front.draw(without(*front.LANES[1:]), LAYOUTS[0]), Missing)


def test_a_row_is_an_arm_under_a_load():
    table = front.table(synthetic.values())
    assert len(table.rows) == 15 and all(len(row) == len(table.columns) and all(cell.kind == "key" for cell in row) for row in table.rows)
    assert [cell.value for cell in table.rows[0]] == [
        "lanes.front.t1.plain.arm", "lanes.front.t1.concurrency", *(f"lanes.front.t1.plain.{what}" for what in ("output_throughput", "tpot_ms", "ttft_ms")),
    ]  # fmt: skip
