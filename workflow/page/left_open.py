"""A claim is left open by noise, by few repeats, or by the claims judged together with it. Its `unresolved` variant is true of each of these, so it names none."""

from __future__ import annotations

from workflow.page.content import Section
from workflow.page.dialect import parse
from workflow.page.directions import said
from workflow.page.errors import Problem
from workflow.page.strings import Strings
from workflow.page.tree import Node, claims
from workflow.page.words import Words

OPEN = "unresolved"


def check(section: Section, language: str, words: Words) -> list[Problem]:
    """Reasons named in the unresolved variants of a section's claims."""
    found = [Problem(section.file, claim.line, "left open", _told(claim.key, phrase)) for claim in claims(section.tree) for phrase in _named(claim.variants[OPEN], language, words)]
    return list(dict.fromkeys(found))


def check_strings(strings: Strings, words: Words) -> list[Problem]:
    """The same for titles and alt texts of plates, and for claims in texts of the interface."""
    problems = []
    for name, plate in strings.section("plates").items():
        for part in ("title", "alt"):
            for language, text in ((plate.get(part) or {}).get(OPEN) or {}).items():
                file = strings.files["plates"]
                tree = parse(str(text), f"{file}: {name}.{part}")
                problems += [Problem(file, 0, "left open", f"{name}.{part}: {_told(plate.get('claim', ''), phrase)}") for phrase in _named(tree, language, words)]
    for _, language, text in strings.texts("ui"):
        file = strings.files["ui"]
        for claim in claims(parse(text, file)):
            problems += [Problem(file, 0, "left open", _told(claim.key, phrase)) for phrase in _named(claim.variants[OPEN], language, words)]
    return list(dict.fromkeys(problems))


def _named(body: tuple[Node, ...], language: str, words: Words) -> list[str]:
    return words.left_open_in(said(body), language)


def _told(key: str, phrase: str) -> str:
    return f"claim {key} (unresolved): “{phrase}” names a reason; the claim may have been left open for another, so say that it is not resolved"
