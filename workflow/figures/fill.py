"""Words and numbers into a drawn plate, once a language.

A drawing holds slots: `@@name@@` a label of the plate, `@@n:key@@` the formatted value of a fact (`@@n:key|style@@`), `@@t:key|longest@@` the raw
text of a fact (a token of the model) cut to so many characters, `@@title@@` and `@@alt@@`. What is filled from a fact carries `data-key`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from lxml import etree

from workflow.derive.fact import Fact
from workflow.derive.values import Values
from workflow.figures.style import PAPER, SVG, TOKENS

_SLOT = re.compile(r"@@(.+?)@@")
_NUMBER = re.compile(r"""\{\{\s*(?:n|label)\(\s*"([^"]+)"\s*(?:,\s*"([^"]*)"\s*)?\)\s*\}\}""")

Run = tuple[str, str | None]
"""A piece of text and the key of the fact it states, if it states one."""


class StringsError(ValueError):
    """A string of a plate that is absent or asks for what does not exist."""


class NumberText(Protocol):
    """How a value becomes text in the language at hand; the page's formatter. `style`: bare, signed, abs or None."""

    def text(self, fact: Fact, style: str | None = None) -> str: ...


@dataclass(frozen=True)
class Words:
    """The strings of one plate in one language, with numbers spliced."""

    plate: str
    language: str
    strings: Mapping
    """The `plates` part of strings.yaml: plate id -> {claim, title, alt, subtitle, labels}."""
    values: Values
    formatter: NumberText

    def label(self, name: str) -> list[Run]:
        return self.runs(self._leaf("labels", name))

    def subtitle(self) -> list[Run]:
        return self.runs(self._leaf("subtitle"))

    def chosen(self, part: str) -> str:
        """The variant shown: the claim's verdict, or `missing` when a number that variant states does not exist."""
        verdict = self.verdict()
        needed = _NUMBER.finditer(self._leaf(part, verdict))
        return verdict if all(self.values.get(found[1]) is not None for found in needed) else "missing"

    def finding(self, part: str) -> list[Run]:
        """The `title` or `alt` in the chosen variant."""
        return self.runs(self._leaf(part, self.chosen(part)))

    def verdict(self) -> str:
        claim = self.values.claims.get(self._leaf_raw("claim"))
        return claim.verdict if claim else "missing"

    def runs(self, template: str) -> list[Run]:
        """Split a template at its `{{ n("key") }}`. Raises StringsError on a fact that is missing."""
        pieces, end = [], 0
        for found in _NUMBER.finditer(template):
            pieces += [(template[end : found.start()], None), (self.number(found[1], found[2] or ""), found[1])]
            end = found.end()
        pieces.append((template[end:], None))
        if any("{{" in text for text, key in pieces if key is None):
            raise StringsError(f'plates.{self.plate}: only n("key") and label("key") are understood in a drawing: {template!r}')
        return [(text, key) for text, key in pieces if text]

    def number(self, key: str, style: str = "") -> str:
        fact = self.values.get(key)
        if fact is None:
            raise StringsError(f"plates.{self.plate}: {key} is missing in campaign {self.values.campaign}")
        return _printable(self.formatter.text(fact, style or None))

    def _leaf_raw(self, *path: str):
        node = self.strings
        for step in (self.plate, *path):
            try:
                node = node[step]
            except (KeyError, TypeError):
                raise StringsError(f"plates.{'.'.join((self.plate, *path))}: not in the strings") from None
        return node

    def _leaf(self, *path: str) -> str:
        return self._leaf_raw(*path, self.language)


def plain(runs: list[Run]) -> str:
    return "".join(text for text, _ in runs)


def plate_of(svg: str) -> str:
    """The id of the plate that a drawn SVG shows."""
    return re.search(r'data-plate="([^"]+)"', svg)[1]


def fill(svg: str, language: str, strings: Mapping, values: Values, formatter: NumberText, title: str | None = None, alt: str | None = None) -> str:
    """The SVG in one language, ready to inline. `title` and `alt` override what the strings say (the page may have rendered them).

    Raises StringsError when a label or a fact of the drawing is missing.
    """
    words = Words(plate_of(svg), language, strings, values, formatter)
    root = etree.fromstring(svg.encode())
    for node in root.iter():
        if not node.text or "@@" not in node.text:
            continue
        slot = _SLOT.fullmatch(node.text)
        if slot and slot[1] in ("title", "alt"):
            given = title if slot[1] == "title" else alt
            _whole(node, words.finding(slot[1]) if given is None else [(given, None)])
        else:
            _pieces(node, words)
    return etree.tostring(root, encoding="unicode") + "\n"


def _whole(node, runs: list[Run]) -> None:
    """Elements that may hold text only name all their keys at once."""
    node.text = plain(runs)
    keys = [key for _, key in runs if key]
    if keys:
        node.set("data-key", " ".join(dict.fromkeys(keys)))


def _pieces(node, words: Words) -> None:
    runs, end, content = [], 0, node.text
    for found in _SLOT.finditer(content):
        runs += [(content[end : found.start()], None), *_slot(found[1], words)]
        end = found.end()
    runs = [run for run in (*runs, (content[end:], None)) if run[0]]
    node.text = None
    if len(runs) == 1:
        node.text = runs[0][0]
        if runs[0][1]:
            node.set("data-key", runs[0][1])
        return
    last = None
    for text, key in runs:
        if key:
            last = etree.SubElement(node, f"{{{SVG}}}tspan")
            last.text = text
            last.set("data-key", key)
        elif last is None:
            node.text = (node.text or "") + text
        else:
            last.tail = (last.tail or "") + text


def _slot(slot: str, words: Words) -> list[Run]:
    kind, _, name = slot.partition(":")
    if not name:
        return words.label(slot)
    key, _, style = name.partition("|")
    if kind == "n":
        return [(words.number(key, style), key)]
    fact = words.values.get(key)
    return [(visible(str(fact.value), int(style or 9)) if fact else "–", key)]


def visible(token: str, longest: int = 9) -> str:
    """A token of the model with its white space shown, what XML forbids replaced, and long ones cut."""
    shown = _printable(token.replace("\n", "⏎").replace("\t", "⇥").replace(" ", "␣")) or "∅"
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def _printable(text: str) -> str:
    """XML allows neither control characters nor lone surrogates; spaces of every kind stay."""
    return "".join(c if c.isprintable() or c.isspace() and c >= " " else "�" for c in text)


def standalone(svg: str, width: int | None = None) -> str:
    """A filled plate as a file of its own: literal colours on the light paper, a font stack, a size."""
    root = etree.fromstring(svg.encode())
    _, _, across, down = root.get("viewBox").split()
    root.set("width", str(width or across))
    root.set("height", f"{float(down) * (width or float(across)) / float(across):g}")
    root.set("font-family", "system-ui, 'Segoe UI', 'PingFang SC', 'Noto Sans CJK SC', 'Microsoft YaHei', sans-serif")
    ground = etree.Element(f"{{{SVG}}}rect", width=across, height=down, fill=PAPER.light)
    root.insert(2, ground)
    text = etree.tostring(root, encoding="unicode")
    for token in TOKENS:
        text = text.replace(token.css, token.light)
    text = re.sub(r"var\(--mono,([^)]*)\)", r"\1", text)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + text + "\n"
