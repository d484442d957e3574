"""No text on another, none outside, none under 12 px, in Chromium, both languages, both papers at their extreme widths."""

from __future__ import annotations

import pytest

from tests.figures import chromium, synthetic
from tests.figures.conftest import Drawn
from tests.figures.overlap import Drawing, problems
from workflow.figures.registry import plates
from workflow.figures.style import LAYOUTS
from workflow.figures.svg import render

WIDTHS = {"wide": (600, 760), "narrow": (288, 360)}

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium.BINARY is None, reason="needs chromium: apt-get install chromium")]


def test_texts_stand_apart(drawings, values):
    shown = [
        Drawing(f"{d.name} {language} {width}", d.filled(language, values), width)
        for d in drawings
        for language in ("en", "zh")
        for width in WIDTHS[d.layout]
    ]
    found = problems(shown)
    assert found == [], "\n".join(found)


def test_the_check_sees_an_overlap(drawings, values):
    svg = drawings[0].filled("en", values)
    planted = '<text x="90" y="60">under it</text><text x="90" y="60">over it</text><text x="700" y="12">out of it, over the edge</text>'
    moved = svg.replace("</svg>", planted + "</svg>")
    found = problems([Drawing("moved", moved, 300)])
    assert any("touches 'over it'" in line or "'over it' touches" in line for line in found)
    assert any("leaves the drawing" in line for line in found) and any("px" in line for line in found)


@pytest.mark.parametrize("shape", ("steep", "close", "reversed"))
def test_texts_stand_apart_on_other_data(shape):
    """The same plates where curves cross elsewhere: labels move with the data."""
    values = synthetic.shaped(shape)
    shown = []
    for plate in plates():
        for layout in LAYOUTS:
            drawing = render(plate.draw(values, layout), plate.id)
            filled = Drawn(plate.id, layout.name, drawing).filled("en", values)
            shown.append(Drawing(f"{shape} {plate.id} {layout.name}", filled, WIDTHS[layout.name][0]))
    found = problems(shown)
    assert found == [], "\n".join(found)
