"""The closed world of numbers, checked on the rendered page.

Every digit run and number word is spliced (`data-key`), declared (`data-lit`), or stands in code or a time. What is spliced shows a rendering of its fact in
the language of its place. Every word of rank or universality has a claim in its block or a mark of definition.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from workflow.derive.fact import Fact
from workflow.page import dom
from workflow.page.format import FORMATS, FormatError, Formatter, for_programs
from workflow.page.literals import BUILT_IN, Literals
from workflow.page.lookup import Lookup
from workflow.page.words import Words

DIGITS = re.compile(r"\d[\d.,]*")
SIGNS = "".join(chr(code) for code in range(0x80, 0x10000) if unicodedata.category(chr(code)) in ("No", "Nl"))
TYPED = re.compile(rf"{DIGITS.pattern}|[{SIGNS}]")
"""Digits, and signs that are numbers: fractions, superscripts, circled and Roman ones."""
TIMES_WORD = re.compile("倍")
FREE_TIMES = re.compile("倍数|加倍|翻倍")


@dataclass(frozen=True)
class Finding:
    """What is wrong, the text it stands in, and the nearest id."""

    check: str
    message: str
    text: str
    anchor: str | None


@dataclass(frozen=True)
class NumbersLint:
    lookup: Lookup
    formatter: Formatter
    literals: Literals
    words: Words

    def check(self, root: dom.Element, prose: dom.Prose | None = None) -> list[Finding]:
        """`prose`: the page as `dom.Prose` has it, where the caller has it already."""
        prose, findings = prose or dom.Prose(root), []
        for piece in prose.pieces:
            findings += self._piece(piece.text, piece.node, piece.around)
        for node, around in prose.told():
            findings += self._attributes(node, around.language)
        return [*findings, *self._spliced(prose), *self._declared((*prose.marks.literal, *prose.marks.defined))]

    def _piece(self, text: str, node: dom.Element, around: dom.Around):
        if not around.covered:
            yield from self._typed(text, around.language, node)
            yield from self._times(node, text, around.language)
        if not around.worded and dom.for_programs(node) is None:
            yield from self._ranks(node, text, around.language)

    def _attributes(self, node: dom.Element, language: str):
        if "data-key" in node.attrib or "data-lit" in node.attrib:
            return
        for name, value in dom.spoken(node):
            for finding in self._typed(value, language, node):
                yield Finding(finding.check, f"{name}: {finding.message}", finding.text, finding.anchor)

    def _typed(self, text: str, language: str, node: dom.Element):
        for match in TYPED.finditer(text):
            yield Finding(
                "typed digit",
                f"“{match.group()}” in “{near(text, match.start())}” is neither spliced nor declared",
                match.group(),
                dom.anchor_of(node),
            )
        for word in self.words.numbers_in(text, language):
            yield Finding(
                "number word", f"“{word}” in “{near(text, text.find(word))}” is neither spliced nor declared", word, dom.anchor_of(node)
            )

    def _times(self, node, text: str, language: str):
        """倍 belongs to a number that is spliced; the splice writes it."""
        if language != "zh":
            return
        text = FREE_TIMES.sub("  ", text)
        if text.lstrip(" \u00a0").startswith("倍") and _follows_splice(node, text):
            text = text.replace("倍", " ", 1)
        for match in TIMES_WORD.finditer(text):
            yield Finding(
                "number word", f"“倍” in “{near(text, match.start())}” does not follow a spliced number", "倍", dom.anchor_of(node)
            )

    def _ranks(self, node, text: str, language: str):
        words = self.words.ranks_in(self._without_names(node, text, language), language)
        if not words or dom.block_of(node).xpath(".//*[@data-claim]"):
            return
        for word in words:
            yield Finding(
                "rank word",
                f"“{word}” in “{near(text, text.find(word))}” has no claim in its block and no mark of definition",
                word,
                dom.anchor_of(node),
            )

    def _without_names(self, node, text: str, language: str) -> str:
        """A text that carries labels in the middle of it (a title), without them: a name claims nothing."""
        known = [key for key in (node.get("data-key") or "").split() if self.lookup.known(key)]
        for fact in (self.lookup.fact(key) for key in known):
            if fact.kind == "label" and not fact.missing:
                text = text.replace(self.formatter(fact, language), " ")
        return text

    def _spliced(self, prose: dom.Prose):
        for node in prose.marks.keyed:
            keys, language = node.get("data-key").split(), prose.around(node).language
            if unknown := [key for key in keys if not self.lookup.known(key)]:
                yield Finding("unknown key", f"data-key {unknown[0]!r} is no fact of this campaign", unknown[0], dom.anchor_of(node))
                continue
            facts = [self.lookup.fact(key) for key in keys]
            shown = dom.text_of(node) if dom.tag(node) != "meta" else node.get("content") or ""
            if dom.for_programs(node) is not None:
                yield from self._value(node, facts[0], language, shown)
            elif left := self._left_over(shown, facts, language):
                yield Finding(
                    "typed digit",
                    f"“{left}” in “{near(shown, shown.find(left))}” is none of the facts {', '.join(keys)} in {language}",
                    left,
                    dom.anchor_of(node),
                )

    def _value(self, node, fact: Fact, language: str, shown: str):
        if fact.missing:
            yield Finding("spliced value", f"{fact.key} is missing, yet shown as “{shown}”", shown, dom.anchor_of(node))
            return
        raw = dom.for_programs(node)
        expected = for_programs(fact)
        if raw != expected:
            yield Finding("spliced value", f"value={raw!r} of {fact.key} is not its value {expected}", shown, dom.anchor_of(node))
        if shown != self.formatter(fact, language) and shown not in self.renderings(fact, language):
            yield Finding(
                "spliced value",
                f"“{shown}” is not how {fact.key} is written in {language} ({self.formatter(fact, language)})",
                shown,
                dom.anchor_of(node),
            )

    def renderings(self, fact: Fact, language: str) -> set[str]:
        """Everything that a fact may look like in one language."""
        if fact.missing:
            return set()
        formatter = self.formatter
        found = {formatter(fact, language, fmt) for fmt in (None, *FORMATS)}
        if not isinstance(fact.value, str):
            found.add(str(fact.value))
            for write in (formatter.word, formatter.ordinal):
                try:
                    found.add(write(fact, language))
                except FormatError:
                    pass  # not a whole number: no word for it
        return found

    def _left_over(self, shown: str, facts: list[Fact], language: str) -> str | None:
        """The first digits of a text that no rendering of its facts, and no declared literal, accounts for."""
        known = {text for fact in facts for text in self.renderings(fact, language)} | {
            literal.text[language] for literal in self.literals.literals.values()
        }
        known |= {str(fact.value).strip() for fact in facts if isinstance(fact.value, str)} - {""}
        if "…" in shown and any(isinstance(fact.value, str) for fact in facts):
            return None  # a label cut short
        for text in sorted(known, key=len, reverse=True):
            shown = shown.replace(text, " ")
        match = DIGITS.search(shown)
        return match.group() if match else None

    def _declared(self, nodes: Iterable[dom.Element]):
        known = {"data-lit": {*self.literals.literals, *BUILT_IN}, "data-def": {*self.literals.definitions}}
        for node in nodes:
            for attribute, names in known.items():
                if (name := node.get(attribute)) is not None and name not in names:
                    yield Finding("literal", f"{attribute} {name!r} is not declared in templates/literals.yaml", name, dom.anchor_of(node))


def _follows_splice(node: dom.Element, text: str) -> bool:
    """Whether a text of this element comes right after a spliced number."""
    if node.text and FREE_TIMES.sub("  ", node.text) == text:
        before = node.getprevious() if node.getprevious() is None or not (node.getprevious().tail or "").strip() else None
    else:
        before = next((child for child in node if child.tail and FREE_TIMES.sub("  ", child.tail) == text), None)
    while before is not None:
        if before.get("data-key") is not None or before.get("data-lit") is not None:
            return True
        before = before[-1] if len(before) and not (before[-1].tail or "").strip() else None
    return False


def near(text: str, at: int, width: int = 24) -> str:
    """The words around a place."""
    text = text.replace("\n", " ")
    return text[max(0, at - width) : at + width].strip()
