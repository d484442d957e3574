"""A place for a short label beside a mark that no line and no other mark runs through."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from workflow.figures.paths import Box, meet
from workflow.figures.sheet import Point

WIDTH = 0.66
"""A digit's width over its size, the widest face of the stacks."""


def box(x: float, y: float, text: str, size: float, anchor: str) -> Box:
    """What a text covers that stands at x with its baseline at y."""
    wide = WIDTH * size * len(text)
    left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[anchor]
    return left, y - 0.8 * size, left + wide, y + 0.1 * size


def spots(mark: Point, size: float, gap: float) -> list[tuple[float, float, str]]:
    """(x, baseline, anchor) around a mark, the better ones first: the four corners, above right foremost, then above, below, right, left."""
    x, y = mark
    level, slant = y + 0.35 * size, 0.75 * gap
    over, under = y - slant, y + slant + 0.7 * size
    return [
        (x + slant, over, "start"), (x - slant, under, "end"), (x - slant, over, "end"), (x + slant, under, "start"),
        (x, y - gap, "middle"), (x, y + gap + 0.8 * size, "middle"), (x + gap, level, "start"), (x - gap, level, "end"),
    ]  # fmt: skip


def clear(mark: Point, text: str, size: float, lines: Iterable[Sequence[Point]], taken: Iterable[Box], gap: float = 13.0) -> tuple[float, float, str]:
    """The spot around a mark that the fewest strokes and taken boxes touch, the better one of equals. `gap`: from the mark's middle, SVG units."""
    return clearest(spots(mark, size, gap), text, size, lines, taken)


def clearest(places: Iterable[tuple[float, float, str]], text: str, size: float, lines: Iterable[Sequence[Point]], taken: Iterable[Box]) -> tuple[float, float, str]:
    """The place (x, baseline, anchor) where the fewest strokes and taken boxes touch a text, the first of equals."""
    strokes, taken = [stroke for line in lines for stroke in pairwise(line)], list(taken)

    def touched(place: tuple[float, float, str]) -> int:
        room = box(*place[:2], text, size, place[2])
        return sum(crosses(room, *stroke) for stroke in strokes) + sum(meet(room, other, 0.0) for other in taken)

    return min(places, key=touched)


def crosses(room: Box, start: Point, end: Point, air: float = 1.5) -> bool:
    """Whether a stroke passes through a box, with room for the stroke's own width."""
    left, top, right, bottom = room[0] - air, room[1] - air, room[2] + air, room[3] + air
    enter, leave = 0.0, 1.0
    for at, step, low, high in ((start[0], end[0] - start[0], left, right), (start[1], end[1] - start[1], top, bottom)):
        if step == 0:
            if not low <= at <= high:
                return False
            continue
        first, last = sorted(((low - at) / step, (high - at) / step))
        enter, leave = max(enter, first), min(leave, last)
    return enter <= leave
