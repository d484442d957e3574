"""What every plate shares: colour roles, line and marker cues, the two paper sizes.

Blue is the numerator (accepted tokens), red the denominator (step cost), ink the result. Hue never carries meaning
alone: content classes and lanes also differ by marker and dash.
"""

from __future__ import annotations

from dataclasses import dataclass

SVG = "http://www.w3.org/2000/svg"
"""The name space of every drawing."""


@dataclass(frozen=True)
class Token:
    """A colour role: a variable of the page's style sheet, with the light theme's colour for where there is none."""

    name: str
    light: str
    dark: str

    @property
    def css(self) -> str:
        return f"var(--{self.name},{self.light})"


INK = Token("ink", "#1d1c1a", "#ece8e0")
INK2 = Token("ink-2", "#56524b", "#b0aa9f")
NUM = Token("num", "#1c5d8c", "#7cb8ea")
DEN = Token("den", "#b03a1e", "#f28c72")
AXIS = Token("axis", "#8a857b", "#7d776d")
RULE = Token("rule", "#dcd8cf", "#36332e")
PAPER = Token("paper", "#fbfaf7", "#161513")
TOKENS = (INK, INK2, NUM, DEN, AXIS, RULE, PAPER)


@dataclass(frozen=True)
class Layout:
    """One paper width. The page swaps the two by container width, so that text never renders below 12 px.

    `text` is the smallest size, in SVG units: the wide sheet is shown from 600 px upward (14.5 * 600/720 = 12.1 px),
    the narrow one down to 288 px, which is a 320 px screen less its margins (13.5 * 288/320 = 12.2 px).
    """

    name: str
    width: int
    text: float
    big: float

    @property
    def narrow(self) -> bool:
        return self.name == "narrow"


WIDE = Layout("wide", 720, 14.5, 19.0)
NARROW = Layout("narrow", 320, 13.5, 16.0)
LAYOUTS = (WIDE, NARROW)


@dataclass(frozen=True)
class Cue:
    """How one series looks apart from its hue: matplotlib marker, dash pattern (on, off, ...), filled or hollow mark."""

    marker: str
    dash: tuple[float, ...] = ()
    filled: bool = True


DOT = Cue("o")
CONTENT = {
    "arith": Cue("o"),
    "code": Cue("s", (7, 2.5)),
    "en": Cue("^", (4, 2.5)),
    "zh": Cue("D", (1.5, 2.5)),
}
LANE = {
    "dspark": Cue("o"),
    "plain": Cue("o", (5, 3), filled=False),
    "mtp": Cue("^", (1.5, 2.5), filled=False),
    "dflash": Cue("s", (7, 2.5)),
    "lookup": Cue("D", (4, 2.5), filled=False),
}
