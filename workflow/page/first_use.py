"""The Chinese page names each term of the field in English too, in parentheses behind its first use. Which use is the first depends on what a campaign's page says,
so it is found on the finished page."""

from __future__ import annotations

import re
from collections import Counter

TOKEN = re.compile(r"<[^>]*>|[^<]+")
TAG = re.compile(r"</?([a-z0-9]+)")
PROSE = {"p", "li", "dd"}
APART = {"a", "abbr", "button", "code", "data", "figure", "legend", "math", "nav", "pre", "script", "style", "svg"}
"""Elements that take no parentheses: links and numbers, code and formulas, figures with their captions."""


def first_uses(page: str, terms: dict[str, str]) -> str:
    """A page with the English behind the first use of each term in running text. `terms`: Chinese -> English."""
    left, open_elements, done = dict(terms), Counter(), []
    for token in TOKEN.findall(page):
        if token.startswith("<"):
            if tag := TAG.match(token):
                open_elements[tag[1]] += -1 if token.startswith("</") else 0 if token.endswith("/>") else 1
        elif left and any(open_elements[name] > 0 for name in PROSE) and not any(open_elements[name] > 0 for name in APART):
            token = _told(token, left)
        done.append(token)
    return "".join(done)


def _told(text: str, left: dict[str, str]) -> str:
    """A piece of text in which the terms that are left are told; they are left no more. A space behind a term goes: a full-width mark needs none."""

    def with_english(found: re.Match) -> str:
        english = left.pop(found[1], None)
        return found[0] if english is None else f'{found[1]}（<span lang="en">{english}</span>）'

    names = "|".join(map(re.escape, sorted(left, key=len, reverse=True)))
    return re.sub(rf"({names})(?!（)[ \u00a0\u202f]?", with_english, text)
