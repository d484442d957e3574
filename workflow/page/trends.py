"""A trend is stated by a claim. A sentence outside of every claim stays as it is when the data turn, so it may not say that something rises, falls or is faster."""

from __future__ import annotations

import re

from workflow.page.content import Section
from workflow.page.dialect import parse
from workflow.page.errors import Problem
from workflow.page.strings import Strings
from workflow.page.tree import running
from workflow.page.words import Words

NO_PROSE = re.compile(r"\{#[\w-]+|`[^`]*`")
"""Ids of blocks, and code."""


def check(section: Section, language: str, words: Words) -> list[Problem]:
    """Words of trend in a section's title and text outside of its claims and of what states a definition."""
    problems = []
    for text in (*running(section.title_tree, "define"), *running(section.tree, "define")):
        for word in words.trends_in(NO_PROSE.sub(" ", text), language):
            problems.append(Problem(section.file, section.line_with(word, None), "trend", _told(word)))
    return list(dict.fromkeys(problems))


def check_strings(strings: Strings, words: Words) -> list[Problem]:
    """The same for the texts of the interface, and for what of a plate stands whatever its claim says: subtitle, labels, captions of stills."""
    problems = []
    for kind in ("ui", "plates"):
        file = strings.files[kind]
        for path, language, said in strings.texts(kind):
            if kind == "plates" and path.split(".")[1] in ("title", "alt"):
                continue
            for text in running(parse(said, f"{file}: {path}"), "define"):
                problems += [Problem(file, 0, "trend", f"{path} ({language}): {_told(word)}") for word in words.trends_in(NO_PROSE.sub(" ", text), language)]
    return list(dict.fromkeys(problems))


def _told(word: str) -> str:
    return f"“{word}” is governed by no claim: it stays when the data turn; say it in a variant, or without the trend"
