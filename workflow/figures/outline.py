"""Outlines of marks, and the part of a line that lies on the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from workflow.figures.sheet import Point

AIR = 1.0
"""How far a line may reach over the edge of the paper, in SVG units."""
_HALF = math.sqrt(0.5)
CORNERS = {
    "s": ("MLLLz", ((-0.5, 0.5), (0.5, 0.5), (0.5, -0.5), (-0.5, -0.5))),
    "D": ("MLLLz", ((0.0, _HALF), (_HALF, 0.0), (0.0, -_HALF), (-_HALF, 0.0))),
    "^": ("MLLz", ((0.0, -0.5), (-0.5, 0.5), (0.5, 0.5))),
    "v": ("MLLz", ((0.0, 0.5), (0.5, -0.5), (-0.5, -0.5))),
    "x": ("MLML", ((-0.5, 0.5), (0.5, -0.5), (-0.5, -0.5), (0.5, 0.5))),
    "P": ("MLLLLLLLLLLLz", tuple((x / 6, -y / 6) for x, y in ((-1, -3), (1, -3), (1, -1), (3, -1), (3, 1), (1, 1), (1, 3), (-1, 3), (-1, 1), (-3, 1), (-3, -1), (-1, -1)))),
}
"""Shape -> strokes and corners of a mark of size one around the origin; y downwards. A dot (`o`) has none."""


def outline(shape: str, size: float) -> str:
    """The path of a mark around the origin, `size` SVG units wide and high (a diamond from side to side)."""
    strokes, corners = CORNERS[shape]
    places = iter(corners)
    return " ".join(letter if letter == "z" else "{} {:f} {:f}".format(letter, *(size * value for value in next(places))) for letter in strokes)


def clipped(points: Sequence[Point], width: float, height: float) -> list[tuple[str, float, float]]:
    """A line as moves (M) and strokes (L), without what lies off a paper of this size."""
    found, pen = [], None
    for start, end in pairwise(points):
        if (part := _inside(start, end, width, height)) is not None:
            if part[0] != pen:
                found.append(("M", *part[0]))
            found.append(("L", *part[1]))
            pen = part[1]
    return found


def _inside(start: Point, end: Point, width: float, height: float) -> tuple[Point, Point] | None:
    """The part of one stroke on the paper (Liang and Barsky)."""
    enter, leave = 0.0, 1.0
    for at, low, high in ((0, -AIR, width + AIR), (1, -AIR, height + AIR)):
        step = end[at] - start[at]
        if step == 0:
            if not low <= start[at] <= high:
                return None
            continue
        first, last = sorted(((low - start[at]) / step, (high - start[at]) / step))
        enter, leave = max(enter, first), min(leave, last)
    if enter > leave:
        return None

    def place(share: float) -> Point:
        return start if share == 0 else end if share == 1 else (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))

    return place(enter), place(leave)
