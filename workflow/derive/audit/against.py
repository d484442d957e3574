"""Claims of one text against one another: superlatives over one set, and two figures for one formula."""

from __future__ import annotations

from dataclasses import replace

from workflow.derive.audit import cancel, enclosure, printed, show
from workflow.derive.audit.expand import expand
from workflow.derive.audit.formula import Apply, Compare, Reference, references
from workflow.derive.audit.printed import PrintedError
from workflow.derive.audit.tables import Claim, Published
from workflow.derive.audit.verdict import Finding, cells_of, examine


def audit(published: Published) -> list[Finding]:
    """A finding for each claim, in the order of claims.csv."""
    found = {name: examine(published, claim) for name, claim in published.claims.items()}
    return list(superlatives(published, twins(published, found)).values())


def superlatives(published: Published, found: dict[str, Finding]) -> dict[str, Finding]:
    """A false superlative contradicts what stands: another superlative over the set, or the member that is larger."""
    result = dict(found)
    for name, claim in published.claims.items():
        if claim.kind != "superlative" or found[name].verdict != "inconsistent" or not isinstance(claim.tree, Compare):
            continue
        groups = [reference.texts[0] for reference in references(claim.tree) if reference.name == "claims"]
        if not groups or enclosure.truth(expand(published, name).tree, cells_of(published)) is not False:
            continue
        members = [other for other in published.claims.values() if other.set == groups[0] and other.tree is not None]
        values = {m.id: cancel.middle(expand(published, m.id).tree, cells_of(published)) for m in members}
        best = (max if _wants_most(claim.tree) else min)((m for m in values if values[m] is not None), key=values.get)
        rival = next(
            (o.id for o in published.claims.values() if o.id != name and _same_set(o, groups[0]) and found[o.id].verdict == "consistent"),
            "",
        )
        why = f"contradicts {rival or best}: {best} is {show.digits(values[best])}; {found[name].why}"
        result[name] = replace(found[name], verdict="contradicts", other=rival or best, why=why)
    return result


def _wants_most(tree: Compare) -> bool:
    return tree.relation in (">=", ">") or tree.relation == "==" and isinstance(tree.right, Apply) and tree.right.name == "max"


def _same_set(claim: Claim, group: str) -> bool:
    return claim.kind == "superlative" and claim.tree is not None and Reference("claims", (group,)) in references(claim.tree)


def twins(published: Published, found: dict[str, Finding]) -> dict[str, Finding]:
    """Two claims of one formula and unit that print figures which no rounding brings together: the one that stands is contradicted."""
    result, seen = dict(found), {}
    for claim in published.claims.values():
        if claim.tree is not None and claim.kind not in ("languages", "monotone", "superlative"):
            seen.setdefault((claim.tree, claim.unit), []).append(claim)
    for claims in seen.values():
        for claim in claims:
            others = [
                other for other in claims if _apart(claim, other) and found[other.id].verdict in ("consistent", "edge", "unverifiable")
            ]
            if others and found[claim.id].verdict in ("inconsistent", "unverifiable"):
                other = others[0]
                why = f"contradicts {other.id}, which prints {other.published} for the same formula; {found[claim.id].why}"
                result[claim.id] = replace(found[claim.id], verdict="contradicts", other=other.id, why=why)
    return result


def _apart(a: Claim, b: Claim) -> bool:
    try:
        return not printed.interval(a.published).meets(printed.interval(b.published))
    except PrintedError:
        return a.published != b.published
