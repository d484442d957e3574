"""What the source alone can tell: keys that no campaign has, and keys that a variant may not rely on."""

from __future__ import annotations

from workflow.derive.values import UnknownKey
from workflow.page.content import Section
from workflow.page.dialect import Use, claims, uses
from workflow.page.errors import Problem
from workflow.page.lookup import Lookup

OF_FACTS = {"n", "between", "word", "ordinal", "plural", "label"}
ALWAYS = ("machine.", "software.", "run.", "model.", "noise.", "threshold.", "section.", "plate.", "page.")
"""Families that every measured campaign has: they come from its manifest, its thresholds or the page."""


def keys_of(use: Use) -> tuple[str, ...]:
    """The fact keys that a call asks for."""
    if use.call.function not in OF_FACTS:
        return ()
    return use.call.args if use.call.function == "between" else use.call.args[:1]


def check(section: Section, lookup: Lookup) -> list[Problem]:
    """Unknown keys in any variant; keys that a variant's verdict does not guarantee; numbers inside an absent block."""
    problems = []
    for key in section.needs:
        problems += _unknown(section, key, 1, lookup)
    for claim in claims(section.tree):
        try:
            lookup.claim(claim.key)
        except UnknownKey as error:
            problems.append(Problem(section.file, claim.line, "splice", str(error)))
    for use in (*uses(section.tree), *uses(section.title_tree)):
        for key in keys_of(use):
            problems += _unknown(section, key, use.call.line, lookup) or _unsure(section, key, use, lookup)
    shown = tuple(dict.fromkeys(use.call.args[0] for use in uses(section.tree) if use.call.function == "plate"))
    if shown != section.plates:
        problems.append(Problem(section.file, 1, "front matter", f"plates: says {list(section.plates)}, the text shows {list(shown)}"))
    return list(dict.fromkeys(problems))


def _unknown(section: Section, key: str, line: int, lookup: Lookup) -> list[Problem]:
    if lookup.known(key):
        return []
    try:
        lookup.fact(key)
    except UnknownKey as error:
        return [Problem(section.file, line, "splice", str(error))]
    return []


def _unsure(section: Section, key: str, use: Use, lookup: Lookup) -> list[Problem]:
    place = section.file, use.call.line, "guarantee"
    if use.absent:
        return [Problem(*place, f"{key}: an absent block may not use facts, it stands where they are missing")]
    if use.claim is None or key.startswith(ALWAYS) or not _has_claim(lookup, use.claim):
        return []
    evidence = lookup.claim(use.claim).evidence
    if use.verdict == "missing":
        return [Problem(*place, f"{key} is evidence of {use.claim}; its missing variant cannot rely on it")] if key in evidence else []
    sure = lookup.ancestors((*evidence, *section.needs))
    parents = lookup.fact(key).parents
    if key in sure or (parents and sure.issuperset(parents)):
        return []
    return [Problem(*place, f"{key} is neither evidence of {use.claim}, nor in `needs`, nor a parent of these; name it in `needs`")]


def _has_claim(lookup: Lookup, key: str) -> bool:
    return key in lookup.values.claims
