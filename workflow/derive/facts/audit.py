"""Verdicts on what a publication claims, from its own figures (`soundings audit`)."""

from collections import defaultdict

from workflow.derive.audit import expand, tables
from workflow.derive.audit.against import Auditor
from workflow.derive.audit.formula import Reference, references
from workflow.derive.audit.verdict import WRONG
from workflow.derive.fact import Cell
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.schema import SchemaError
from workflow.derive.stats import ranges

COLUMNS = ("published", "unit", "kind", "set", "formula")
"""What a verdict rests on, of the claim itself."""


def auditor(read) -> Auditor:
    """Verdicts over the campaign's own tables, each computed once. Missing in a campaign without claims."""
    if read.campaign.find("published", "") is None:
        raise Missing("claims.csv is not part of this campaign")
    shared = read.derivation.shared
    if "audit" not in shared:
        shared["audit"] = Auditor(tables.of_campaign(read.campaign), strict=False)
    return shared["audit"]


def trace(read, names) -> None:
    """Record the claims and the cells that verdicts rest on: through the claims that formulas name, and those that they are held against."""
    found, lines = auditor(read), defaultdict(set)
    text, todo, seen = found.published, list(names), set()
    while todo:
        name = todo.pop()
        if name in seen or name not in text.claims:
            continue
        seen.add(name)
        claim = text.claims[name]
        for column in COLUMNS:
            lines[tables.CLAIMS, column].add(claim.line)
        for reference in references(claim.tree) if claim.tree is not None else ():
            todo += reached(text, reference)
        todo += [other.id for other in (*found.twins(claim), *found.rivals(claim))]
        for leaf in leaves_of(text, name):
            row = text.rows[leaf.row]
            lines[row.file, leaf.column].add(row.line)
    for (file, column), of in sorted(lines.items()):
        read.record.cells[Cell(file, ranges(sorted(of)), column, "")] = None
    read.record.statuses.append("transcribed")


def leaves_of(text: tables.Published, name: str) -> list[expand.Leaf]:
    try:
        return expand.leaves(expand.expand(text, name).tree)
    except (tables.Unpublished, SchemaError):
        return []


def reached(text: tables.Published, reference: Reference) -> list[str]:
    if reference.name == "claim":
        return [reference.texts[0]]
    if reference.name == "claims":
        return [claim.id for claim in text.claims.values() if claim.set == reference.texts[0]]
    return []


@fact("audit.claims", kind="count")
def claims(read):
    """published claims that were recomputed"""
    trace(read, auditor(read).published.claims)
    return len(auditor(read).published.claims)


@fact("audit.count.{verdict}", kind="count", verdict=("consistent", "edge", "inconsistent", "unverifiable"))
def count(read, verdict):
    """published claims with that verdict"""
    found = auditor(read)
    trace(read, found.published.claims)
    return sum(found.finding(name).verdict == verdict for name in found.published.claims)


@fact("audit.wrong", kind="count")
def wrong(read):
    """published claims that are inconsistent, contradict another or are identities"""
    found = auditor(read)
    trace(read, found.published.claims)
    return sum(found.finding(name).verdict in WRONG for name in found.published.claims)


@fact("audit.{audited}.verdict", kind="label")
def verdict(read, audited):
    """the verdict on one published claim, at the precision in which it and its inputs were printed"""
    trace(read, [audited])
    return auditor(read).finding(audited).verdict


@fact("audit.{audited}.said", kind="label")
def said(read, audited):
    """the claim as printed, with its unit"""
    trace(read, [audited])
    claim = auditor(read).published.claims[audited]
    return f"{claim.published} {claim.unit}".strip()


@fact("audit.{audited}.why", kind="label")
def why(read, audited):
    """the arithmetic of one published claim"""
    trace(read, [audited])
    return auditor(read).finding(audited).why
