"""A trend is stated by a claim. A sentence outside of every claim stays as it is when the data turn, so it may not say that something rises, falls or is faster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workflow.page.content import Section
from workflow.page.dialect import parse
from workflow.page.errors import Problem
from workflow.page.strings import Strings
from workflow.page.tree import Block, Node, Text
from workflow.page.words import Words

NO_PROSE = re.compile(r"\{#[\w-]+|`[^`]*`")
"""Ids of blocks, and code."""


def check(section: Section, language: str, words: Words) -> list[Problem]:
    """Words of trend in a section's title and text outside of its claims and of what states a definition."""
    problems = []
    for text in (*outside(section.title_tree), *outside(section.tree)):
        for word in words.trends_in(NO_PROSE.sub(" ", text), language):
            problems.append(Problem(section.file, section.line_with(word, None), "trend", _told(word)))
    return list(dict.fromkeys(problems))


def check_strings(strings: Strings, words: Words) -> list[Problem]:
    """The same for the texts of the interface, and for what of a plate stands whatever its claim says: subtitle, labels, captions of stills."""
    problems = []
    for kind in ("ui", "plates"):
        file = strings.files[kind]
        for path, language, said in _leaves(strings.section(kind), ""):
            if kind == "plates" and path.split(".")[2] in ("title", "alt"):
                continue
            for text in outside(parse(said, f"{file}: {path}")):
                problems += [Problem(file, 0, "trend", f"{path.lstrip('.')} ({language}): {_told(word)}") for word in words.trends_in(NO_PROSE.sub(" ", text), language)]
    return list(dict.fromkeys(problems))


def outside(body: Iterable[Node]) -> Iterator[str]:
    """Text that no verdict governs, without definitions."""
    for node in body:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Block) and node.tag != "define":
            yield from outside(node.body)


def _leaves(node: object, path: str) -> Iterator[tuple[str, str, str]]:
    """(path, language, text) of every text below a node."""
    for name, child in node.items() if isinstance(node, dict) else ():
        if name in ("en", "zh") and isinstance(child, str):
            yield path, name, child
        else:
            yield from _leaves(child, f"{path}.{name}")


def _told(word: str) -> str:
    return f"“{word}” is governed by no claim: it stays when the data turn; say it in a variant, or without the trend"
