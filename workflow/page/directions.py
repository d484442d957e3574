"""A text about a claim may use the direction and rank words that the claim itself declares, and not their opposites.

Parity finds a direction that was turned in one language. One that was turned in both is found here: the function that computes the verdict
says (`says=`) which classes of words.yaml speak of it, so the text and the code would have to be turned together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workflow.derive.values import UnknownKey
from workflow.page.content import Section
from workflow.page.dialect import Node, Text, claims, parse
from workflow.page.errors import Problem
from workflow.page.lookup import Lookup
from workflow.page.strings import Strings
from workflow.page.words import Words


def check(section: Section, language: str, lookup: Lookup, words: Words) -> list[Problem]:
    """Words in the variants of a section's claims that the claims do not declare."""
    problems = []
    for claim in claims(section.tree):
        for verdict, body in claim.variants.items():
            problems += _undeclared(claim.key, verdict, f"{verdict}, {language}", said(body), language, lookup, words, section.file, claim.line)
    return list(dict.fromkeys(problems))


def check_plates(strings: Strings, lookup: Lookup, words: Words) -> list[Problem]:
    """The same for the titles and alt texts of the plates."""
    file, problems = strings.files["plates"], []
    for name, plate in strings.section("plates").items():
        for part in ("title", "alt"):
            for verdict, texts in (plate.get(part) or {}).items():
                for language, text in texts.items():
                    body = said(parse(str(text), f"{file}: {name}.{part}.{verdict}"))
                    problems += _undeclared(plate.get("claim", ""), verdict, f"{name}.{part}.{verdict}, {language}", body, language, lookup, words, file, 0)
    return list(dict.fromkeys(problems))


def said(body: Iterable[Node]) -> str:
    """The words of a text itself; what stands in `define` states no result."""
    return " ".join(node.text for node in body if isinstance(node, Text))


def _undeclared(key: str, verdict: str, place: str, text: str, language: str, lookup: Lookup, words: Words, file: str, line: int) -> Iterator[Problem]:
    try:
        says = lookup.claim(key).says
    except UnknownKey:
        return  # told elsewhere
    for name, word in words.polar_in(text, language).items():
        if name not in says and f"{verdict}.{name}" not in says:
            declared = f"says {', '.join(says)}" if says else "says no such word"
            yield Problem(
                file, line, "direction", f"claim {key} ({place}): “{word}” is of class {name}, but the claim {declared}; turn the text, or declare it with says=(…)"
            )
