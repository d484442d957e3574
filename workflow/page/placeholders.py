"""Inert stand-ins for everything that is spliced.

A splice function returns a few private-use code points. They are neither digits, punctuation nor markup, so Markdown carries them untouched through
bold, tables, code spans and titles; one pass over the finished HTML turns them into elements. A number therefore never enters the Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

START, END = "\ue000", "\ue001"
SEEN = {0xE010 + value: digit for value, digit in enumerate("0123456789abcdef")}
HIDDEN = {ord(digit): point for point, digit in SEEN.items()}
"""Private code points that stand for the hexadecimal digits of a place, and back."""
MARK = re.compile(f"{START}([\ue010-\ue01f]+){END}")
PRIVATE = re.compile("[\ue000-\uf8ff]")
TAG = re.compile(r"<[^<>]*>")


class Splice(NamedTuple):
    """What a placeholder stands for. `html` in text; `text` where only text can stand (an attribute, a title)."""

    kind: str
    """number, word, plural, ref, lit, term, open, close, plate, table"""
    key: str
    html: str
    text: str
    signature: str = ""
    """What parity compares; empty: nothing."""


@dataclass
class Vault:
    """The splices of one document, in order of appearance."""

    items: list[Splice] = field(default_factory=list)

    def put(self, splice: Splice) -> str:
        self.items.append(splice)
        return START + f"{len(self.items) - 1:x}".translate(HIDDEN) + END

    def get(self, match: re.Match) -> Splice:
        return self.items[int(match.group(1).translate(SEEN), 16)]

    def found(self, text: str) -> list[Splice]:
        """The splices whose placeholders stand in a text."""
        return [self.get(match) for match in MARK.finditer(text)]

    def fill(self, html: str) -> str:
        """Placeholders of a piece of HTML replaced; inside tags by text, with `data-key` on the element."""
        parts, at = [], 0
        for tag in TAG.finditer(html):
            parts.append(MARK.sub(lambda m: self.get(m).html, html[at : tag.start()]))
            parts.append(self._fill_tag(tag.group()))
            at = tag.end()
        parts.append(MARK.sub(lambda m: self.get(m).html, html[at:]))
        return "".join(parts)

    def _fill_tag(self, tag: str) -> str:
        splices = self.found(tag)
        if not splices:
            return tag
        tag = MARK.sub(lambda m: escape(self.get(m).text, quote=True), tag)
        keys = " ".join(dict.fromkeys(s.key for s in splices if s.kind in ("number", "word", "plural")))
        return re.sub(r"\s*/?>$", f' data-key="{escape(keys, quote=True)}"\\g<0>', tag) if keys else tag

    def plain(self, text: str, of: Callable[[Splice], str] = lambda splice: splice.text) -> str:
        """Placeholders replaced by text; not escaped."""
        return MARK.sub(lambda m: of(self.get(m)), text)
