"""Short labels stand where nothing drawn runs through them, wherever there is such a place."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workflow.figures.spots import box, clear, crosses, spots

SIZE, GAP = 14.0, 13.0
near = st.tuples(st.floats(-40, 40), st.floats(-40, 40))


def along(start, end, parts: int = 200):
    return [(start[0] + (end[0] - start[0]) * part / parts, start[1] + (end[1] - start[1]) * part / parts) for part in range(parts + 1)]


@given(near, near)
def test_a_stroke_crosses_a_box_when_a_point_of_it_lies_inside(start, end):
    room = (-10.0, -6.0, 10.0, 6.0)
    inside = any(room[0] <= x <= room[2] and room[1] <= y <= room[3] for x, y in along(start, end))
    assert not inside or crosses(room, start, end)
    wide = (-14.0, -10.0, 14.0, 10.0)
    outside = all(not (wide[0] <= x <= wide[2] and wide[1] <= y <= wide[3]) for x, y in along(start, end, 2000))
    assert not outside or not crosses(room, start, end)


@given(st.lists(st.lists(near, min_size=2, max_size=4), max_size=3), st.sampled_from(("4", "32", "128")))
def test_a_label_takes_a_clear_spot_where_there_is_one(lines, text):
    def touched(spot) -> bool:
        room = box(*spot[:2], text, SIZE, spot[2])
        return any(crosses(room, *pair) for line in lines for pair in pairwise(line))

    chosen = clear((0.0, 0.0), text, SIZE, lines, [], GAP)
    free = [spot for spot in spots((0.0, 0.0), SIZE, GAP) if not touched(spot)]
    assert chosen == free[0] if free else chosen in spots((0.0, 0.0), SIZE, GAP)


def test_a_label_keeps_clear_of_what_stands_there_already():
    first = spots((0.0, 0.0), SIZE, GAP)[0]
    taken = [box(*first[:2], "32", SIZE, first[2])]
    assert clear((0.0, 0.0), "32", SIZE, [], taken, GAP) != first


def test_no_spot_lies_on_the_mark():
    for x, y, anchor in spots((0.0, 0.0), SIZE, GAP):
        left, top, right, bottom = box(x, y, "32", SIZE, anchor)
        assert not (left < 0 < right and top < 0 < bottom)
