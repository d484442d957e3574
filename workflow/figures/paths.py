"""How a drawing's lines and marks are written: each as short as can be, and those of one look as one path, so that a series costs a page one element."""

from __future__ import annotations

import re

from workflow.figures.style import SVG

PATH = f"{{{SVG}}}path"
LOOK = ("fill", "stroke", "stroke-width", "stroke-dasharray", "transform", "data-series")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_STEP = re.compile(r"([MLHVCQzhvla])([^MLHVCQzhvla]*)")

_OPERANDS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4, "h": 1, "v": 1, "l": 2, "a": 7}
"""How many numbers one stroke of a letter takes."""

Box = tuple[float, float, float, float]
"""left, top, right, bottom; SVG units, y downwards"""


def short(text: str) -> str:
    """Numbers to a tenth of a unit, which is below what a screen shows."""
    return _NUMBER.sub(lambda found: _tenth(float(found[0])), text)


def whole(text: str) -> str:
    """Positions to a unit: where something stands is told no finer than a pixel, its size and outline are."""
    return _NUMBER.sub(lambda found: f"{round(float(found[0]))}", text)


def path(data: str) -> str:
    """The shortest way to say a path between whole units: level and upright strokes by one coordinate, repeated letters left out, no spaces around letters."""
    said, repeats, at = "", "", ()
    for letter, numbers in re.findall(r"([MLCQz])([^MLCQz]*)", whole(data)):
        points = numbers.split()
        to = points[-2:] or at
        if letter == "L" and to[1] == at[1]:
            letter, points = "H", points[:1]
        elif letter == "L" and to[0] == at[0]:
            letter, points = "V", points[1:]
        said += (" " if letter == repeats else letter) + " ".join(points)
        repeats, at = {"M": "L", "z": ""}.get(letter, letter), to
    return said


def dot(radius: float, x: float, y: float) -> str:
    """A round mark at (x, y) in whole SVG units: from its top all the way round, a hair short."""
    radius = round(radius, 1)
    return f"M{round(x)} {_tenth(round(y) - radius)}a{radius:g} {radius:g} 0 1 0 .1 0z"


def mark(shape: str, x: float, y: float) -> str:
    """A mark's outline around the origin moved to (x, y) in whole SVG units and told in steps from there."""
    x, y = round(x), round(y)
    steps = re.findall(r"([MLz])([^MLz]*)", shape)
    numbers = [[float(number) for number in points.split()] for _, points in steps]
    said, repeats, left, top = "", "", 0.0, 0.0
    for (letter, _), points in zip(steps, numbers):
        if letter == "z":
            said, repeats = said + "z", ""
            continue
        right, bottom = (round(value, 1) for value in points)
        across, down = _tenth(right - left), _tenth(bottom - top)
        if letter == "M":
            step, told = "M", f"{_tenth(x + right)} {_tenth(y + bottom)}"
        else:
            step = "h" if top == bottom else "v" if left == right else "l"
            told = {"h": across, "v": down}.get(step, f"{across} {down}")
        said += (" " if step == repeats else step) + told
        repeats, left, top = step, right, bottom
    return said


def merge(parent) -> None:
    """One path for all of a group that look alike. One that something drawn in between would then cover keeps its place."""
    for child in list(parent):
        if child.tag == f"{{{SVG}}}g":
            merge(child)
    drawn: list[tuple] = []
    for child in list(parent):
        if child.tag != PATH:
            if len(child) and next(child.iter(PATH), None) is not None:
                drawn.clear()  # a group of its own order
            continue
        if not child.get("d"):
            parent.remove(child)  # nothing of it lies on the paper
            continue
        look, box = tuple(child.get(name) for name in LOOK), extent(child.get("d"))
        for place in range(len(drawn) - 1, -1, -1):
            earlier, same, around = drawn[place]
            if same == look:
                earlier.set("d", earlier.get("d") + child.get("d"))
                parent.remove(child)
                drawn[place] = earlier, same, _union(around, box)
                break
            if meet(around, box):
                drawn.append((child, look, box))
                break
        else:
            drawn.append((child, look, box))


def steps(data: str) -> str:
    """The same path with every stroke told from where the pen is: equal shapes are then equal texts, which packs better than the shortest text does. Letters as in `extent`."""
    said, letter_before, x, y = "", "", 0.0, 0.0
    start = (x, y)
    for letter, text in _STEP.findall(data):
        if letter == "z":
            said, letter_before, (x, y) = said + "z", "", start
            continue
        numbers = [float(number) for number in text.split()]
        size = _OPERANDS[letter]
        for at in range(0, len(numbers), size):
            given = numbers[at : at + size]
            if letter.isupper():
                pen = [x if letter == "H" else y] if size == 1 else [x, y] * (size // 2)
                given = [number - from_ for number, from_ in zip(given, pen)]
            across, down = given[-2:] if size > 1 else (given[0], 0) if letter in "Hh" else (0, given[0])
            x, y = round(x + across, 1), round(y + down, 1)
            if letter == "M":
                start = (x, y)
            name = letter.lower()
            said += _told(name, given, name == letter_before)
            letter_before = "l" if name == "m" else name
            letter = "L" if letter == "M" else letter  # further pairs of a move are strokes
    return said


def _told(letter: str, numbers: list[float], repeated: bool) -> str:
    """One stroke, its letter left out where it is the one before; a minus or a second point parts two numbers as well as a space does."""
    said = "" if repeated else letter
    for number in numbers:
        digits = re.sub(r"^(-?)0\.", r"\1.", _tenth(number))
        parted = digits[0] == "-" or said[-1:] == letter
        said += digits if parted else f" {digits}"
    return said


def extent(data: str) -> Box:
    """What a path of this module covers, its control points included; no letter but M L H V C Q z and the h v l a of marks."""
    x = y = 0.0
    across, down = [], []
    for letter, text in _STEP.findall(data):
        numbers = [float(number) for number in text.split()]
        if letter == "a":
            across += [x - numbers[0], x + numbers[0]]
            down.append(y + 2 * numbers[1])
        elif letter in "HVhv":
            for number in numbers:
                level, base = letter in "Hh", (x if letter in "Hh" else y) * letter.islower()
                x, y = (base + number, y) if level else (x, base + number)
        else:
            for right, below in zip(numbers[::2], numbers[1::2]):
                x, y = (x + right, y + below) if letter == "l" else (right, below)
                across.append(x)
                down.append(y)
        across.append(x)
        down.append(y)
    return min(across), min(down), max(across), max(down)


def meet(one: Box, other: Box, air: float = 2.0) -> bool:
    """Whether two boxes touch. `air`: room beside each, for the width of strokes."""
    return one[0] < other[2] + air and other[0] < one[2] + air and one[1] < other[3] + air and other[1] < one[3] + air


def _union(one: Box, other: Box) -> Box:
    return min(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def _tenth(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"
