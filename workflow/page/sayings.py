"""Label values that a program composed: a known sentence with something filled in, said again in another language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

HOLE = re.compile(r"\{(\w+)\}")


class Sayings:
    """Label values -> {en, zh}. A name with `{holes}` stands for every text that fills them; what fills them may itself have a name."""

    def __init__(self, names: Mapping[str, Mapping[str, str]]):
        self.names = names

    @cached_property
    def patterns(self) -> list[tuple[re.Pattern, Mapping[str, str]]]:
        """Sentences with holes, the one with the most words of its own first: it is the most particular."""
        composed = sorted((name for name in self.names if HOLE.search(name)), key=lambda name: (-len(HOLE.sub("", name)), name))
        return [(pattern_of(name), self.names[name]) for name in composed]

    def say(self, text: str, language: str) -> str:
        """The text in that language; itself where nothing is known of it."""
        if text in self.names:
            return self.names[text][language]
        for pattern, said in self.patterns:
            if found := pattern.fullmatch(text):
                filled = {hole: self.names[part][language] if part in self.names else part for hole, part in found.groupdict().items()}
                return said[language].format_map(filled)
        return text

    def knows(self, text: str) -> bool:
        return text in self.names or any(pattern.fullmatch(text) for pattern, _ in self.patterns)


def pattern_of(name: str) -> re.Pattern:
    """`up to {share} % late` -> a pattern whose groups are the holes."""
    parts = HOLE.split(name)
    return re.compile("".join(f"(?P<{part}>.+?)" if place % 2 else re.escape(part) for place, part in enumerate(parts)), re.DOTALL)
