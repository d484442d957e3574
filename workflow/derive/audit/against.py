"""All claims of one text, and against one another: superlatives over one set, and two figures for one formula."""

from __future__ import annotations

from dataclasses import replace

from workflow.derive.audit import cancel, enclosure, printed, show
from workflow.derive.audit.expand import expand
from workflow.derive.audit.formula import Apply, Compare, references
from workflow.derive.audit.printed import PrintedError
from workflow.derive.audit.tables import CLAIMS, Claim, Published, Unpublished
from workflow.derive.audit.verdict import Finding, cells_of, examine
from workflow.derive.schema import SchemaError

STANDS = ("consistent", "edge")


def audit(published: Published) -> list[Finding]:
    """A finding for each claim, in the order of claims.csv. Raises SchemaError on a claim that cannot be read."""
    auditor = Auditor(published)
    return [auditor.finding(name) for name in published.claims]


class Auditor:
    """Verdicts on demand, each once. With `strict` off, a claim that cannot be read is unverifiable and stops no other."""

    def __init__(self, published: Published, strict: bool = True):
        self.published, self.strict = published, strict
        self._alone: dict[str, Finding] = {}

    def alone(self, name: str) -> Finding:
        """The verdict by the claim's own formula."""
        if name not in self._alone:
            claim = self.published.claims[name]
            try:
                self._alone[name] = examine(self.published, claim)
            except SchemaError as error:
                if self.strict:
                    raise
                self._alone[name] = Finding(name, "unverifiable", None, None, claim.published, f"{CLAIMS} line {claim.line}: {error}")
        return self._alone[name]

    def finding(self, name: str) -> Finding:
        """The verdict with what other claims of the text say."""
        claim, alone = self.published.claims[name], self.alone(name)
        if alone.verdict not in ("inconsistent", "unverifiable"):
            return alone
        if claim.kind == "superlative":
            return self._superlative(claim, alone)
        twins = [other for other in self.twins(claim) if _apart(claim, other) and self.alone(other.id).verdict in (*STANDS, "unverifiable")]
        if not twins:
            return alone
        other = twins[0]
        why = f"contradicts {other.id}, which prints {other.published} for the same formula; {alone.why}"
        return replace(alone, verdict="contradicts", other=other.id, why=why)

    def twins(self, claim: Claim) -> list[Claim]:
        """Other claims of the same formula and unit."""
        if claim.tree is None or claim.kind in ("languages", "monotone", "superlative"):
            return []
        others = (other for other in self.published.claims.values() if other.id != claim.id)
        return [other for other in others if (other.tree, other.unit) == (claim.tree, claim.unit)]

    def rivals(self, claim: Claim) -> list[Claim]:
        """Other superlatives over the same set."""
        group = group_of(claim)
        others = (other for other in self.published.claims.values() if other.id != claim.id and other.kind == "superlative")
        return [other for other in others if group and group_of(other) == group]

    def _superlative(self, claim: Claim, alone: Finding) -> Finding:
        """A false superlative contradicts what stands: another superlative over the set, or the member that is larger."""
        group = group_of(claim)
        if not group or alone.verdict != "inconsistent" or enclosure.truth(expand(self.published, claim.id).tree, self._cells) is not False:
            return alone
        values = {other.id: self._middle(other.id) for other in self.published.claims.values() if other.set == group}
        known = {name: value for name, value in values.items() if value is not None}
        if not known:
            return alone
        best = (max if _wants_most(claim.tree) else min)(known, key=known.get)
        rival = next((other.id for other in self.rivals(claim) if self.alone(other.id).verdict == "consistent"), "")
        why = f"contradicts {rival or best}: {best} is {show.digits(known[best])}; {alone.why}"
        return replace(alone, verdict="contradicts", other=rival or best, why=why)

    @property
    def _cells(self):
        return cells_of(self.published)

    def _middle(self, name: str) -> float | None:
        try:
            return cancel.middle(expand(self.published, name).tree, self._cells)
        except Unpublished:
            return None


def group_of(claim: Claim) -> str:
    """The set that a superlative ranges over; empty when it names none."""
    found = references(claim.tree) if claim.tree is not None else []
    return next((reference.texts[0] for reference in found if reference.name == "claims"), "")


def _wants_most(tree: Compare) -> bool:
    return tree.relation in (">=", ">") or (tree.relation == "==" and isinstance(tree.right, Apply) and tree.right.name == "max")


def _apart(a: Claim, b: Claim) -> bool:
    """Whether no figure rounds to both."""
    try:
        return not printed.interval(a.published).meets(printed.interval(b.published))
    except PrintedError:
        return a.published != b.published
