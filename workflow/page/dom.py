"""Walking a rendered page: which language an element speaks, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree

Element = etree._Element

EXEMPT = {"code", "pre", "script", "style", "time", "kbd", "samp"}
"""Elements whose text is not prose: hashes, commands, paths, stamps."""
BLOCKS = {"p", "li", "td", "th", "dd", "dt", "h1", "h2", "h3", "h4", "figcaption", "caption", "summary", "blockquote", "aside", "div", "section", "figure", "header",
          "footer", "nav", "main", "body", "table", "ul", "ol", "dl", "details", "title", "meta", "text", "desc"}  # fmt: skip
SPOKEN = ("alt", "title", "aria-label", "placeholder", "content")
"""Attributes that are read out or shown."""


def parse(page: str) -> Element:
    """The root element. (Plain elements: those of lxml.html cost a class lookup each.)"""
    return etree.fromstring(page, etree.HTMLParser(huge_tree=True))


def text_of(node: Element) -> str:
    return "".join(node.itertext())


def tag(node) -> str:
    """Name of an element; empty for a comment. (The HTML parser lowers names and keeps no namespaces.)"""
    return node.tag if isinstance(node.tag, str) else ""


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

    language: str
    covered: bool
    """Inside an element with data-key or data-lit."""
    worded: bool
    """Inside an element with data-claim or data-def."""

    def inside(self, node: Element) -> Around:
        has = node.keys()
        if not has:
            return self
        language, covered, worded = self.language, self.covered, self.worded
        if "lang" in has and (lang := node.get("lang")):
            language = "zh" if lang.startswith("zh") else "en"
        covered = covered or "data-key" in has or "data-lit" in has
        worded = worded or "data-claim" in has or "data-def" in has
        if (language, covered, worded) == (self.language, self.covered, self.worded):
            return self
        return Around(language, covered, worded)


def walk(node: Element, around: Around = Around("en", False, False)) -> Iterator[tuple[Element, Around]]:
    """Every element with its surroundings, in document order, without code, times and scripts and what stands inside them."""
    stack = [(node, around)]
    while stack:
        node, around = stack.pop()
        if node.tag in EXEMPT or not isinstance(node.tag, str):
            continue
        around = around.inside(node)
        yield node, around
        if len(node):
            stack += [(child, around) for child in reversed(node)]


def texts(node: Element) -> Iterator[str]:
    """The pieces of text of an element's own."""
    if node.text and not node.text.isspace():
        yield node.text
    for child in node:
        if child.tail and not child.tail.isspace():
            yield child.tail


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
