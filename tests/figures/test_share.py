"""The picture for links: its size, its weight, the same bytes again, and that it is drawn of whatever a campaign has."""

from __future__ import annotations

import struct

from workflow.derive.values import Values
from workflow.figures import draw, share
from workflow.figures.build import build
from workflow.figures.share import BUDGET, picture


def size(png: bytes) -> tuple[int, int]:
    """Width and height as the header of a PNG has them."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and png[12:16] == b"IHDR"
    return struct.unpack(">II", png[16:24])


def test_it_has_the_size_that_the_page_says_and_the_same_bytes_again(values):
    png = picture(values)
    assert size(png) == (1200, 630) and len(png) <= BUDGET
    assert picture(values) == png and b"Software" not in png


def test_other_values_give_another_picture_and_none_still_give_one(values):
    empty = picture(Values("empty", {}, {}))
    assert size(empty) == (1200, 630) and empty != picture(values)


def test_one_over_its_budget_is_named(values, tmp_path, monkeypatch):
    monkeypatch.setattr(share, "BUDGET", 10)
    try:
        build(values, tmp_path / "figures")
    except draw.TooLarge as error:
        assert "share.png" in str(error) and not (tmp_path / "figures").exists()
    else:
        raise AssertionError("nothing was said")
