"""The A/A comparisons that a caption counts are those that the drawing and its table have, however many there are."""

import csv

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.figures.plates import noise
from workflow.figures.read import series
from workflow.figures.sheet import Line
from workflow.figures.style import LAYOUTS


@pytest.mark.parametrize("count", [1, 8, 9, 21])
def test_every_comparison_is_drawn_and_tabled(scratch, count):
    rows = list(csv.DictReader((scratch / "noise.csv").open(encoding="utf8")))
    first = [row for row in rows if row["comparison"] == rows[0]["comparison"]]
    rewrite(scratch, "noise.csv", lambda _: [row | {"comparison": str(7 * place)} for place in range(count) for row in first])
    values = Derivation(load.load(scratch), resamples=0).values()
    assert values.facts["noise.comparisons"].value == count
    assert [mark.at for mark in series(values, "noise.aa.#.ratio")] == list(range(1, count + 1))
    assert sum(cells[0].value == "repeats" for cells in noise.table(values).rows) == count
    for layout in LAYOUTS:
        sheet = noise.draw(values, layout)
        assert sum(item.group == "repeats" and isinstance(item.what, Line) for item in sheet.items) == count
