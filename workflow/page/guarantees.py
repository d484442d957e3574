"""What the source alone can tell: keys that no campaign has, and keys that a variant may not rely on."""

from __future__ import annotations

from workflow.derive.values import UnknownKey
from workflow.page.content import Section
from workflow.page.errors import Problem
from workflow.page.lookup import Lookup
from workflow.page.speaking import absent, keys_of
from workflow.page.tree import Use, claims, uses

ALWAYS = ("machine.", "software.", "run.", "model.", "noise.", "threshold.", "section.", "plate.", "page.", "site.")
"""Families that every measured campaign has: they come from its manifest, its thresholds or the page."""


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
        for key in keys_of(use.call):
            problems += _unknown(section, key, use.call.line, lookup) or _unsure(section, key, use, lookup)
    if any(use.claim is None and keys_of(use.call) for use in uses(section.absent_title_tree)):
        problems.append(Problem(section.file, 1, "guarantee", "the title states a fact; add `absent_title` for campaigns that lack it"))
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
    """Evidence is complete only where a claim was decided, and `needs` only where all of them are there: nothing is judged elsewhere, and no fact
    that this campaign lacks (its variant gives way to `missing`)."""
    place = section.file, use.call.line, "guarantee"
    if use.absent:
        return [Problem(*place, f"{key}: an absent block may not use facts, it stands where they are missing")]
    if key.startswith(ALWAYS) or absent(section.needs, lookup):
        return []
    evidence: tuple[str, ...] = ()
    if use.claim is not None:
        claim = lookup.values.claims.get(use.claim)
        if claim is None or claim.margin is None or absent((key,), lookup):
            return []
        if use.verdict == "missing":
            return [Problem(*place, f"{key} is evidence of {use.claim}; its missing variant cannot rely on it")] if key in claim.evidence else []
        evidence = claim.evidence
    if key in evidence or key in section.needs:
        return []
    sure = lookup.ancestors((*evidence, *section.needs))
    parents = lookup.fact(key).parents
    if key in sure or (parents and sure.issuperset(parents)):
        return []
    of_claim = f"evidence of {use.claim}, nor " if use.claim else ""
    return [Problem(*place, f"{key} is neither {of_claim}in `needs`, nor a parent of these; name it in `needs`")]
