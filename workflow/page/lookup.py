"""Facts as the page sees them: those of the campaign, and those the page computes about itself (section and plate numbers, coverage)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from workflow.derive.fact import Claim, Fact
from workflow.derive.values import Values


def count_fact(key: str, value: int, formula: str) -> Fact:
    """A fact about the page itself."""
    return Fact(key, value, kind="count", status="computed", formula=formula)


def title_fact(key: str, title: str) -> Fact:
    """The title of a campaign, in English."""
    return Fact(key, title, kind="label", status="transcribed", formula="title in campaign.yaml")


@dataclass(frozen=True)
class Lookup:
    values: Values
    own: dict[str, Fact] = field(default_factory=dict)
    """Facts of the page: section.SLUG, plate.ID, page.*, site.*"""

    def fact(self, key: str) -> Fact:
        """Raises UnknownKey (of workflow.derive.values)."""
        return self.own[key] if key in self.own else self.values.fact(key)

    def claim(self, key: str) -> Claim:
        return self.values.claim(key)

    def known(self, key: str) -> bool:
        return key in self.own or key in self.values.facts

    def ancestors(self, keys: Iterable[str]) -> set[str]:
        """The keys and everything they were computed from."""
        seen, queue = set(), list(keys)
        while queue:
            key = queue.pop()
            if key in seen or not self.known(key):
                continue
            seen.add(key)
            queue.extend(self.fact(key).parents)
        return seen
