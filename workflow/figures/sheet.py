"""Drawing primitives in SVG units, y downwards: a sheet of paper and panels on it.

A sheet notes what is drawn, in the order of the calls: svg.py writes it down for a page, share.py paints it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from workflow.figures.read import Mark, interval, repeats
from workflow.figures.scale import Scale, tick_text
from workflow.figures.style import AXIS, DOT, INK, INK2, PAPER, RULE, Cue, Layout, Token

Point = tuple[float, float]
SERIES = "abcdef"
"""Names of the series of one sheet; page.css knows each of them."""
def number(key: str) -> str:
    """Text slot of a fact: filled with its formatted value, carries `data-key`."""
    return f"@@n:{key}@@"


def label(name: str) -> str:
    """Text slot of a string of the plate."""
    return f"@@{name}@@"


@dataclass(frozen=True)
class Stop:
    """A place across where a drawing can be read off: its x and what names the rows of the data table that belong to it."""

    x: float
    level: int
    """The coordinate, as the table writes it."""
    name: str = ""
    """A label that the rows have too, where one level stands on two axes."""
    rows: tuple[int, ...] = ()
    """Those rows themselves, where the table has the coordinate as a measured count."""


@dataclass(frozen=True)
class Frame:
    """One still of a drawing that tells a sequence: its caption, the groups in sight, and the part of the paper that it shows."""

    caption: str
    """Its name under `frames` of the plate's strings."""
    groups: tuple[str, ...]
    top: float
    height: float


@dataclass(frozen=True)
class Line:
    """A line through points. `dash`: lengths on and off, in SVG units."""

    points: tuple[Point, ...]
    color: Token
    width: float
    dash: tuple[float, ...]


@dataclass(frozen=True)
class Marks:
    """Marks of one shape (style.Cue) and size around points. Without `face` they are see-through."""

    points: tuple[Point, ...]
    shape: str
    size: float
    color: Token
    face: Token | None


@dataclass(frozen=True)
class Area:
    """A closed outline through its corners, filled with `face` and drawn round with `edge`, as far as it has them."""

    points: tuple[Point, ...]
    face: Token | None
    edge: Token | None
    width: float
    dash: tuple[float, ...]


@dataclass(frozen=True)
class Words:
    """A text with its baseline at `at`. `anchor`: start, middle or end of it stands there. `looks`: of axis, mono, halo, bold."""

    at: Point
    content: str
    anchor: str
    color: Token
    size: float
    looks: frozenset[str]


@dataclass(frozen=True)
class Item:
    """One thing on a sheet, the group that it is in and the letter of its series, if it is in any."""

    what: Line | Marks | Area | Words
    group: str
    series: str


class Sheet:
    """One drawing of `layout.width` x `height` SVG units; origin top left."""

    def __init__(self, layout: Layout, height: float) -> None:
        self.layout = layout
        self.width, self.height = layout.width, height
        self.items: list[Item] = []
        self.stops: list[Stop] = []
        self.frames: list[Frame] = []
        self._group = self._series = ""
        self._letters: dict[str, str] = {}
        """Series -> `data-series` of its elements."""

    @contextmanager
    def group(self, name: str) -> Iterator[None]:
        """Everything drawn inside gets one `<g id="PLATE-name">`."""
        outer, self._group = self._group, name
        yield
        self._group = outer

    @contextmanager
    def series(self, name: str) -> Iterator[None]:
        """Everything drawn inside belongs to one series, here and in other panels: where one is pointed at, the page dims the others. Empty: what it did before."""
        outer, self._series = self._series, self._letters.setdefault(name, SERIES[len(self._letters) % len(SERIES)]) if name else self._series
        yield
        self._series = outer

    def _add(self, what: Line | Marks | Area | Words) -> None:
        self.items.append(Item(what, self._group, self._series))

    def line(self, points: Sequence[Point], color: Token = INK, width: float = 2.0, dash: Sequence[float] = ()) -> None:
        self._add(Line(tuple(points), color, width, tuple(dash)))

    def marks(self, points: Sequence[Point], shape: str = "o", color: Token = INK, size: float = 8.0,
              filled: bool | None = True) -> None:
        """Marks of one shape. Hollow ones (False) are filled with the paper, so that lines do not run through them; None is see-through."""
        if points:
            self._add(Marks(tuple(points), shape, size * (0.86 if shape == "D" else 1.0), color, None if filled is None else color if filled else PAPER))

    def ring(self, center: Point, color: Token = INK, size: float = 16.0) -> None:
        """A ring around a mark: this one is meant."""
        self.marks([center], "o", color, size, filled=None)

    def rect(self, x: float, y: float, width: float, height: float, color: Token | None = INK, edge: Token | None = None,
             stroke: float = 1.4, dash: Sequence[float] = ()) -> None:
        self._add(Area(((x, y), (x + width, y), (x + width, y + height), (x, y + height)), color, edge, stroke, tuple(dash)))

    def polygon(self, points: Sequence[Point], color: Token) -> None:
        self._add(Area(tuple(points), color, None, 0.0, ()))

    def text(self, x: float, y: float, content: str, anchor: str = "start", color: Token = INK, size: float | None = None,
             bold: bool = False, halo: bool = False, mono: bool = False, axis: bool = False) -> None:
        """Text with its baseline at y. `anchor`: start, middle or end of the filled text stands at x."""
        looks = {name for name, wanted in (("axis", axis), ("mono", mono), ("halo", halo), ("bold", bold)) if wanted}
        self._add(Words((x, y), content, anchor, color, size or self.layout.text, frozenset(looks)))

    def axis_text(self, x: float, y: float, content: str, anchor: str = "middle", color: Token = INK2, halo: bool = False) -> None:
        """A coordinate: digits that are declared (`data-lit="axis"`), not spliced."""
        self.text(x, y, content, anchor, color, axis=True, halo=halo)


@dataclass(frozen=True)
class Panel:
    """A rectangle of the sheet with an x and a y scale."""

    sheet: Sheet
    left: float
    top: float
    width: float
    height: float
    xscale: Scale
    yscale: Scale

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    def x(self, value: float) -> float:
        return self.left + self.width * self.xscale(value)

    def y(self, value: float) -> float:
        return self.bottom - self.height * self.yscale(value)

    def at(self, point: Point) -> Point:
        return self.x(point[0]), self.y(point[1])

    def frame(self, xticks: Sequence[float] = (), yticks: Sequence[float] = (), *, xlabels: bool = True, ylabels: bool = True,
              baseline: bool = True) -> None:
        """Horizontal hairlines at the y ticks, a base line, tick numbers outside."""
        size = self.sheet.layout.text
        for value in yticks:
            y = self.y(value)
            self.sheet.line([(self.left, y), (self.right, y)], RULE, 1.0)
        if baseline:
            self.sheet.line([(self.left, self.bottom), (self.right, self.bottom)], AXIS, 1.2)
        for value in xticks:
            self.sheet.line([(self.x(value), self.bottom), (self.x(value), self.bottom + 4)], AXIS, 1.2)
        if ylabels:
            for value in yticks:
                self.sheet.axis_text(self.left - 7, self.y(value) + size * 0.35, tick_text(value, yticks), "end")
        if xlabels:
            for value in xticks:
                self.sheet.axis_text(self.x(value), self.bottom + size + 6, tick_text(value))

    def bar(self, value: float, y: float, height: float, color: Token = INK) -> None:
        """A bar from the panel's left end to a value, around y, on the pale ground of the whole scale."""
        self.sheet.rect(self.left, y - height / 2, self.width, height, RULE)
        self.sheet.rect(self.left, y - height / 2, max(self.x(value) - self.left, 0.0), height, color)

    def curve(self, points: Sequence[Point], color: Token = INK, cue: Cue = DOT, width: float = 2.2, size: float = 8.0) -> None:
        """A series in data coordinates: line with the cue's dash, marks on it."""
        self.curves({"": (points, cue)}, color, width, size)

    def curves(self, curves: Mapping[str, tuple[Sequence[Point], Cue]], color: Token = INK, width: float = 2.2, size: float = 8.0) -> None:
        """Several series of one colour, by name: the lines first, so that none runs through the marks of another."""
        drawn = [(name, [self.at(p) for p in points], cue) for name, (points, cue) in curves.items()]
        for name, points, cue in drawn:
            if len(points) > 1:
                with self.sheet.series(name):
                    self.sheet.line(points, color, width, cue.dash)
        for name, points, cue in drawn:
            with self.sheet.series(name):
                self.sheet.marks(points, cue.marker, color, size, cue.filled)

    def broken(self) -> None:
        """The mark that says: this axis does not start at zero."""
        x, y = self.left, self.bottom - 9
        self.sheet.line([(x, self.bottom), (x, y + 4)], AXIS, 1.2)
        self.sheet.line([(x - 5, y + 6), (x + 5, y + 2)], AXIS, 1.2)
        self.sheet.line([(x - 5, y + 1), (x + 5, y - 3)], AXIS, 1.2)
        self.sheet.line([(x, y - 1), (x, y - 8)], AXIS, 1.2)

    def evidence(self, marks: Sequence[Mark], color: Token = INK, whiskers: bool = True) -> None:
        """What stands behind the marks, drawn under them: the interval as a thin line, each repeat as a tick; cut at the panel."""
        for mark in marks if whiskers else ():
            if bounds := interval(mark.fact):
                self.sheet.line([(self.x(mark.at), self._inside(end)) for end in bounds], color, 1.2)
        for mark in marks:
            for repeat in repeats(mark.fact):
                y = self._inside(repeat)
                self.sheet.line([(self.x(mark.at) - 5.5, y), (self.x(mark.at) + 5.5, y)], color, 1.2)

    def _inside(self, value: float) -> float:
        return self.y(min(max(value, self.yscale.lo), self.yscale.hi))


def gutter(layout: Layout, *ticks: Sequence[float], least: float = 0.0) -> float:
    """Room to the left of a panel for the widest of its tick numbers (a digit is at most 0.65 em wide)."""
    widest = max((len(tick_text(tick, axis)) for axis in ticks for tick in axis), default=0)
    return max(least, widest * layout.text * 0.65 + 9)


def clear_side(y: float, others: Sequence[float], top: float, bottom: float) -> int:
    """-1 when there is more room above y than below it (SVG units, obstacles `others`), else 1."""
    above = y - max((o for o in (*others, top) if o < y), default=top)
    below = min((o for o in (*others, bottom) if o > y), default=bottom) - y
    return -1 if above >= below else 1


def spread(wanted: Sequence[float], gap: float, top: float, bottom: float) -> list[float]:
    """Move label positions apart until neighbours are `gap` apart, staying in [top, bottom]; order is kept."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [min(max(wanted[i], top), bottom) for i in order]
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    if placed and placed[-1] > bottom:
        placed[-1] = bottom
        for i in range(len(placed) - 2, -1, -1):
            placed[i] = min(placed[i], placed[i + 1] - gap)
    result = [0.0] * len(wanted)
    for position, i in zip(placed, order):
        result[i] = position
    return result
