"""What a drawing asks of the values, noted: while the answers are what they were, so is the drawing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from workflow.derive.fact import Fact
from workflow.derive.values import Values


class Asked:
    """The values as plates see them: there is nothing to ask that is not noted, what is not there included."""

    def __init__(self, values: Values):
        self._values = values
        self.keys: dict[str, None] = {}
        self.patterns: dict[str, None] = {}

    @property
    def campaign(self) -> str:
        """Part of every answer."""
        return self._values.campaign

    def get(self, key: str) -> Fact | None:
        """As of `Values`."""
        self.keys[key] = None
        return self._values.get(key)

    def match(self, pattern: str) -> list[Fact]:
        """As of `Values`."""
        self.patterns[pattern] = None
        return self._values.match(pattern)


def answers(values: Values, keys: Iterable[str], patterns: Iterable[str]) -> str:
    """Checksum of what the values answer: every field of the facts, in their order."""
    told = repr((values.campaign, [(key, values.get(key)) for key in keys], [(pattern, values.match(pattern)) for pattern in patterns]))
    return hashlib.sha256(told.encode()).hexdigest()
