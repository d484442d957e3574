"""A text about a claim may use the direction and rank words that the claim itself declares, and not their opposites.

Parity finds a direction that was turned in one language. One that was turned in both is found here: the function that computes the verdict
says (`says=`) which classes of words.yaml speak of it, so the text and the code would have to be turned together. Of a pair of opposites that is
declared whole, the texts say each word once and in the declared order: where the two are exchanged, in one language or in both, the order is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from workflow.derive.values import UnknownKey
from workflow.page.content import Section
from workflow.page.dialect import parse
from workflow.page.errors import Problem
from workflow.page.lookup import Lookup
from workflow.page.strings import Strings
from workflow.page.tree import Node, Text, claims
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


def faults(text: str, says: Sequence[str], verdict: str, language: str, words: Words) -> Iterator[str]:
    """What a text says of a verdict beyond the declared words, or with the two of a pair in another order."""
    declared = [bare for bare in (name.removeprefix(f"{verdict}.") for name in says) if "." not in bare]
    found, says_so = words.polar_order(text, language), f"says {', '.join(says)}" if says else "says no such word"
    for name, word in dict(reversed(found)).items():
        if name not in declared:
            yield f"“{word}” is of class {name}, but the claim {says_so}; turn the text, or declare it with says=(…)"
    for pair in words.data["opposites"]:
        order = [name for name in declared if name in pair]
        both = [(name, word) for name, word in found if name in order]
        if len(order) > 1 and both and [name for name, _ in both] != order:
            spoken = "”, “".join(word for _, word in both)
            yield f"“{spoken}”, but the claim says {order[0]} and then {order[1]}, each once; turn the text, or declare their order or one of them with says=(…)"


def _undeclared(key: str, verdict: str, place: str, text: str, language: str, lookup: Lookup, words: Words, file: str, line: int) -> Iterator[Problem]:
    try:
        says = lookup.claim(key).says
    except UnknownKey:
        return  # told elsewhere
    for fault in faults(text, says, verdict, language, words):
        yield Problem(file, line, "direction", f"claim {key} ({place}): {fault}")
