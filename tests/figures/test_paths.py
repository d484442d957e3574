"""A path said shorter, a mark moved to its place and paths merged draw what they drew before."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path as Outline

from workflow.figures.outline import CORNERS, clipped, outline
from workflow.figures.paths import PATH, dot, extent, mark, merge, path, steps
from workflow.figures.style import SVG


def points(data: str) -> list[tuple[str, float, float]]:
    """Where a path of straight strokes goes: every pair with `M` where the pen is lifted."""
    found, x, y = [], 0.0, 0.0
    for letter, numbers in re.findall(r"([MLHVz])([^MLHVz]*)", data):
        values = [float(number) for number in numbers.split()]
        while values:
            x, y = (values.pop(0), y) if letter == "H" else (x, values.pop(0)) if letter == "V" else (values.pop(0), values.pop(0))
            found.append((letter if letter == "M" else "L", x, y))
            letter = "L" if letter == "M" else letter
    return found


strokes = st.lists(st.tuples(st.sampled_from((-3.5, 0, 1.5, 20, 310.4)), st.sampled_from((-1.5, 0, 7, 88.8))), min_size=1, max_size=6)


@given(st.lists(strokes, min_size=1, max_size=4), st.booleans())
def test_a_path_said_shorter_goes_to_the_same_whole_units(lines, closed):
    long = " ".join(f"M {' L '.join(f'{x:g} {y:g}' for x, y in line)}" for line in lines) + (" z" if closed else "")
    short = path(long)
    assert points(short) == [(letter, round(x), round(y)) for letter, x, y in points(long)]
    assert len(short) < len(long) and short.endswith("z") == closed


@given(st.lists(strokes, min_size=1, max_size=4), st.booleans())
def test_steps_lead_to_the_same_places(lines, closed):
    data = path(" ".join(f"M {' L '.join(f'{x:g} {y:g}' for x, y in line)}" + (" z" if closed else "") for line in lines))
    found, x, y, start = [], 0.0, 0.0, (0.0, 0.0)
    for letter, numbers in re.findall(r"([mlhvz])([^mlhvz]*)", said := steps(data)):
        values = [float(number) for number in re.findall(r"-?(?:\d+(?:\.\d+)?|\.\d+)", numbers)]
        x, y = start if letter == "z" else (x, y)
        while values:
            x, y = x + (values.pop(0) if letter != "v" else 0), y + (values.pop(0) if letter != "h" else 0)
            found.append(("M" if letter == "m" else "L", x, y))
            start, letter = ((x, y), "l") if letter == "m" else (start, letter)
    assert found == points(data) and said.count("z") == data.count("z")


def test_equal_strokes_are_equal_texts():
    assert steps("M8 3h9M20 7h9") == "m8 3h9m3 4h9" and steps("M8 3h9zM20 7h9") == "m8 3h9zm12 4h9"


def test_a_mark_keeps_its_outline_wherever_it_is_put():
    assert mark("M -4.5 0 L 4.5 0", 20.4, 8.6) == mark("M -4.5 0 L 4.5 0", 20, 9) == "M15.5 9h9"


def painted(shape: str, size: float) -> str:
    """A mark around the origin as matplotlib paints it, y downwards."""
    style = MarkerStyle(shape)
    found = []
    for points, code in style.get_transform().scale(size, -size).transform_path(style.get_path()).iter_segments(curves=True, simplify=False):
        letter = {Outline.MOVETO: "M", Outline.LINETO: "L", Outline.CLOSEPOLY: "z"}[code]
        found.append("z" if letter == "z" else f"{letter} {' '.join(f'{value:f}' for value in points)}")
    return " ".join(found)


@pytest.mark.parametrize("shape", CORNERS)
def test_a_mark_of_a_page_is_that_of_the_picture_for_links(shape):
    page, link = (re.findall(r"[MLz]|[-\d.]+", told(shape, 7.0)) for told in (outline, painted))
    assert [one if one in "MLz" else pytest.approx(float(one), abs=1e-6) for one in page] == [one if one in "MLz" else float(one) for one in link]


def test_a_dot_goes_round_its_place():
    assert dot(4.0, 20.4, 8.6) == "M20 5a4 4 0 1 0 .1 0z"


@pytest.mark.parametrize("shape", CORNERS)
@given(st.integers(-99, 999), st.integers(-99, 999), st.sampled_from((3.5, 4.0, 8.0)))
def test_a_mark_stands_where_it_was_put(shape, x, y, size):
    at_origin, placed = extent(mark(outline(shape, size), 0, 0)), extent(mark(outline(shape, size), x, y))
    assert placed == pytest.approx(tuple(value + shift for value, shift in zip(at_origin, (x, y, x, y))), abs=1e-6)
    assert mark(outline(shape, size), x, y).count("M") == outline(shape, size).count("M"), "strokes of a cross stay apart"
    wide, high = placed[2] - placed[0], placed[3] - placed[1]
    assert 0.5 * size <= wide <= 2.2 * size and 0.5 * size <= high <= 2.2 * size


bars = st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(("red", "blue", "ink")))


def layers(root) -> dict[tuple[int, int], list[str]]:
    """What lies on every square of the paper, in the order of painting; the colour on top of it is what is seen."""
    found: dict[tuple[int, int], list[str]] = {}
    for node in root.iter(PATH):
        for x, y in re.findall(r"M(\d+) (\d+)", node.get("d")):
            for across in range(20):
                found.setdefault((int(x) + across, int(y)), []).append(node.get("fill"))
    return found


@given(st.lists(bars, min_size=1, max_size=12))
def test_merging_leaves_every_colour_on_top_that_was_on_top(drawn):
    root = etree.Element(f"{{{SVG}}}svg")
    for column, row, colour in drawn:
        etree.SubElement(root, PATH, d=f"M{column * 10} {row * 10}h20", fill=colour)
    before = {square: colours[-1] for square, colours in layers(root).items()}
    looks = len({colour for *_, colour in drawn})
    merge(root)
    assert {square: colours[-1] for square, colours in layers(root).items()} == before
    assert looks <= len(root) <= len(drawn)


def test_what_nothing_covers_is_one_path_a_look():
    root = etree.Element(f"{{{SVG}}}svg")
    for place in range(6):
        etree.SubElement(root, PATH, d=f"M0 {place * 20}h9", fill="none", stroke="red" if place % 2 else "blue")
    etree.SubElement(root, PATH, fill="red")
    merge(root)
    assert [node.get("stroke") for node in root] == ["blue", "red"]
    assert extent(root[0].get("d")) == (0, 0, 9, 80)


spots = st.tuples(st.integers(-60, 160), st.integers(-60, 160))


@given(st.lists(spots, min_size=2, max_size=5))
def test_of_a_line_what_is_on_the_paper_is_drawn(line):
    found = clipped(line, 100, 80)
    assert all(-1 - 1e-9 <= x <= 101 + 1e-9 and -1 - 1e-9 <= y <= 81 + 1e-9 for _, x, y in found)
    if all(0 <= x <= 100 and 0 <= y <= 80 for x, y in line):
        assert [(x, y) for _, x, y in found] == line and [letter for letter, *_ in found] == ["M", *"L" * (len(line) - 1)]


def test_a_line_that_leaves_the_paper_comes_back_as_a_line_of_its_own():
    assert clipped([(10, 10), (10, 100), (50, 100), (50, 10)], 100, 80) == [("M", 10, 10), ("L", 10, 81), ("M", 50, 81), ("L", 50, 10)]
    assert clipped([(10, 90), (90, 90)], 100, 80) == []
