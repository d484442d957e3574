"""How much of a page is spliced: counted on the rendered page, printed on it and in the build log."""

from __future__ import annotations

from dataclasses import dataclass

from workflow.page.dom import Marks
from workflow.page.lookup import count_fact

NAMES = ("spliced", "declared", "marked", "claimed", "total")


@dataclass(frozen=True)
class Coverage:
    """Elements of one page."""

    spliced: int
    """that show a fact"""
    declared: int
    """that show a declared literal"""
    marked: int
    """words that state a definition"""
    claimed: int
    """places worded by a verdict"""

    @property
    def total(self) -> int:
        """Everything on the page that carries a number: nothing else may."""
        return self.spliced + self.declared

    @classmethod
    def of(cls, marks: Marks) -> Coverage:
        # a mark inside a mark (a tick inside an axis) is one declaration
        literal = set(marks.literal)
        declared = sum(literal.isdisjoint(node.iterancestors()) for node in marks.literal)
        return cls(len(marks.keyed), declared, len(marks.defined), len(marks.claimed))

    def facts(self) -> dict:
        meanings = {
            "spliced": "elements of this page with data-key",
            "declared": "elements of this page with data-lit",
            "marked": "elements of this page with data-def",
            "claimed": "elements of this page with data-claim",
            "total": "page.spliced + page.declared",
        }
        return {f"page.{name}": count_fact(f"page.{name}", getattr(self, name), meanings[name]) for name in NAMES}

    def __str__(self) -> str:
        return f"{self.spliced} spliced + {self.declared} declared = {self.total} numbers, none typed; {self.claimed} places worded by a claim, {self.marked} definitions marked"


EMPTY = Coverage(0, 0, 0, 0)
