"""Walking a rendered page: which language an element speaks, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lxml import etree

Element = etree._Element

EXEMPT = {"code", "pre", "script", "style", "time", "kbd", "samp"}
"""Elements whose text is not prose: hashes, commands, paths, stamps."""
BLOCKS = {"p", "li", "td", "th", "dd", "dt", "h1", "h2", "h3", "h4", "figcaption", "caption", "summary", "blockquote", "aside", "div", "section", "figure", "header",
          "footer", "nav", "main", "body", "table", "ul", "ol", "dl", "details", "title", "meta", "text", "desc"}  # fmt: skip
CELL_VALUE = "data-value"
"""What `value` is to a `data`, on a cell that shows one fact."""
SPOKEN = ("alt", "title", "aria-label", "placeholder", "content")
_SPOKEN = frozenset(SPOKEN)
"""Attributes that are read out or shown."""


def parse(page: str) -> Element:
    """The root element. (Plain elements: those of lxml.html cost a class lookup each.)"""
    return etree.fromstring(page, etree.HTMLParser(huge_tree=True))


def text_of(node: Element) -> str:
    return "".join(node.itertext())


def tag(node) -> str:
    """Name of an element; empty for a comment. (The HTML parser lowers names and keeps no namespaces.)"""
    return node.tag if isinstance(node.tag, str) else ""


def for_programs(node: Element) -> str | None:
    """The unrounded value that an element shows, if it is all one fact: a `data`, or a cell of a plate's table."""
    return node.get("value", "") if node.tag == "data" else node.get(CELL_VALUE)


def ancestors(node) -> Iterator[Element]:
    """The element itself and everything around it."""
    while node is not None:
        yield node
        node = node.getparent()


def language(node) -> str:
    """en or zh, from the nearest lang."""
    for element in ancestors(node):
        if lang := element.get("lang"):
            return "zh" if lang.startswith("zh") else "en"
    return "en"


@dataclass(frozen=True)
class Around:
    """What an element inherits from the elements around it, itself included."""

    language: str = "en"
    covered: bool = False
    """Inside an element with data-key or data-lit."""
    worded: bool = False
    """Inside an element with data-claim or data-def."""
    exempt: bool = False
    """Inside code, a time or a script."""

    def inside(self, node: Element) -> Around:
        has, exempt = node.keys(), self.exempt or node.tag in EXEMPT
        language, covered, worded = self.language, self.covered, self.worded
        if has:
            if "lang" in has and (lang := node.get("lang")):
                language = "zh" if lang.startswith("zh") else "en"
            covered = covered or "data-key" in has or "data-lit" in has
            worded = worded or "data-claim" in has or "data-def" in has
        if (language, covered, worded, exempt) == (self.language, self.covered, self.worded, self.exempt):
            return self
        return Around(language, covered, worded, exempt)


_TEXTS = etree.XPath("/descendant::text()[not(parent::code) and normalize-space()]")  # most text of the index of numbers is code: left out early


class Piece(NamedTuple):
    """A text that is read, the element whose own it is, and what that element inherits."""

    text: str
    node: Element
    around: Around


class Marks:
    """The elements that the checks ask for, in document order, sorted by one walk: an index of numbers has some 60,000 elements."""

    def __init__(self, root: Element):
        self.keyed: list[Element] = []
        """With data-key: they show a fact."""
        self.literal: list[Element] = []
        """With data-lit."""
        self.defined: list[Element] = []
        """With data-def."""
        self.claimed: list[Element] = []
        """With data-claim."""
        self.placed: list[Element] = []
        """With data-key or data-claim."""
        self.told: list[Element] = []
        """With attributes that are read out or shown."""
        self.named: list[Element] = []
        """With an id."""
        for node in root.iter(etree.Element):
            if not (has := node.keys()):
                continue
            if "id" in has:
                self.named.append(node)
            if "data-key" in has or "data-claim" in has:
                self.placed.append(node)
                if "data-key" in has:
                    self.keyed.append(node)
                if "data-claim" in has:
                    self.claimed.append(node)
            if "data-lit" in has:
                self.literal.append(node)
            if "data-def" in has:
                self.defined.append(node)
            if not _SPOKEN.isdisjoint(has):
                self.told.append(node)


class Prose:
    """What a page says outside code, times and scripts, in document order.

    Most elements of the index of numbers hold code alone: XPath leaves their text out before Python sees it.
    """

    def __init__(self, root: Element, marks: Marks | None = None):
        self.marks = marks or Marks(root)
        self._known: dict[Element, Around] = {}
        pieces = (Piece(str(text), node := _holder(text), self.around(node)) for text in _TEXTS(root))
        self.pieces = [piece for piece in pieces if not piece.around.exempt]

    def around(self, node: Element | None) -> Around:
        """What stands around an element, itself included."""
        if node is None:
            return Around()
        if (found := self._known.get(node)) is None:
            found = self._known[node] = self.around(node.getparent()).inside(node)
        return found

    def told(self) -> Iterator[tuple[Element, Around]]:
        """Elements with attributes that are read out or shown."""
        for node in self.marks.told:
            if not (around := self.around(node)).exempt:
                yield node, around


def _holder(text) -> Element:
    """The element whose own a text is: around it, not before it."""
    node = text.getparent()
    return node.getparent() if text.is_tail else node


def spoken(node) -> Iterator[tuple[str, str]]:
    """Attributes of an element that are words; of a meta only those that describe the page."""
    for name in SPOKEN:
        value = node.get(name)
        if not value or (
            name == "content"
            and not re.match(r"description|og:(title|description|image:alt)|citation_title", node.get("name") or node.get("property") or "")
        ):
            continue
        yield name, value


def block_of(node) -> Element:
    """The nearest block around an element."""
    return next((element for element in ancestors(node) if tag(element) in BLOCKS), node)


def anchor_of(node) -> str | None:
    """The nearest id around an element: what a message can point at."""
    return next((element.get("id") for element in ancestors(node) if element.get("id")), None)
