"""What the detectors of measuring hazards found in the campaign's own rows.

They read whole files, so a change of one cell says little about them: the mutation run leaves them out, and each detector is proven on a planted case.
"""

from workflow.derive import reefs
from workflow.derive.fact import Cell
from workflow.derive.reefs.pair import UNITS, Pair
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

PLACES = tuple(range(1, len(reefs.REEFS) + 1))
"""Detectors that fired, the gravest first."""


def findings(read) -> list[reefs.Finding]:
    """Every finding of the campaign, computed once; its files are the source, as wholes."""
    campaign = read.campaign
    if not campaign.families:
        raise Missing("this campaign has no points for a detector to read")
    if "reefs" not in read.derivation.shared:
        read.derivation.shared["reefs"] = reefs.findings(campaign)
    return read.derivation.shared["reefs"]


def trace(read, files) -> None:
    for file in files:
        read.record.cells[Cell(f"{file.removesuffix('.csv')}.manifest.json", "sha256", "")] = None


def fired(read) -> list[list[reefs.Finding]]:
    """Findings by detector, the gravest first, then those that more rows show."""
    groups: dict[str, list[reefs.Finding]] = {}
    for one in findings(read):
        groups.setdefault(one.reef, []).append(one)
    return sorted(groups.values(), key=lambda group: (reefs.SEVERITIES.index(group[0].severity), -sum(one.count for one in group), group[0].reef))


def whole(read) -> None:
    trace(read, read.campaign.tables)


@fact("reefs.detectors", kind="count", status="computed")
def detectors(read):
    """detectors that looked at this campaign"""
    findings(read)
    whole(read)
    return len(reefs.REEFS)


@fact("reefs.fired", kind="count", status="computed")
def count(read):
    """detectors that found something"""
    whole(read)
    return len(fired(read))


@fact("reefs.{severity}", kind="count", status="computed", severity=reefs.SEVERITIES)
def by_severity(read, severity):
    """detectors of this severity that found something"""
    whole(read)
    return sum(group[0].severity == severity for group in fired(read))


@fact("reefs.good_points", kind="count", status="computed")
def good_points(read):
    """points that ended well, which is what most detectors look at"""
    findings(read)
    whole(read)
    tables = [table for table in read.campaign.tables.values() if table.kind == "points"]
    return sum(int(table.mask("status", "ok").sum()) for table in tables)


@fact("reefs.{reef}.rows", kind="count", status="computed", reef=tuple(one.name for one in reefs.REEFS))
def rows_of(read, reef):
    """rows, cells or fields in which one detector found its hazard, over all files; none where it is silent"""
    whole(read)
    return sum(one.count for one in findings(read) if one.reef == reef)


def place_of(read, place: int) -> list[reefs.Finding]:
    groups = fired(read)
    if place > len(groups):
        raise Missing(f"{len(groups)} detectors fired")
    group = groups[place - 1]
    named = [file for file in read.campaign.tables if any(one.where.startswith((file, file.removesuffix(".csv"))) for one in group)]
    trace(read, named or read.campaign.tables)
    return group


@fact("reefs.f{place}.{what}", kind="label", status="computed", place=PLACES, what=("name", "severity", "said"))
def told(read, place, what):
    """detector in this place of the list, how grave it is, or what it said where it spoke first"""
    first = place_of(read, place)[0]
    return {"name": first.reef, "severity": first.severity, "said": first.evidence}[what]


@fact("reefs.f{place}.rows", kind="count", status="computed", place=PLACES)
def rows(read, place):
    """rows, cells or fields that show it, over all files"""
    return sum(one.count for one in place_of(read, place))


SIDES = ("said", "true")
ROWS = tuple(range(1, 9))
"""Rows of a detector that stand beside one another, those where the two numbers lie farthest apart."""
IN_MS, PLAIN = ({"kind": kind, "unit": unit, "reef": tuple(one.name for one in reefs.REEFS if one.pair == name)} for name, (kind, unit) in UNITS.items())


def told_apart(read, reef: str) -> list[Pair]:
    """Pairs of one detector's rows: the farthest apart, in the order of the files."""
    known = [pair for one in findings(read) if one.reef == reef for pair in one.pairs]
    if not known:
        raise Missing("no row shows this hazard in a pair of numbers")
    farthest = sorted(range(len(known)), key=lambda at: -known[at].apart)[: len(ROWS)]
    return [known[at] for at in sorted(farthest)]


def one_side(read, pair: Pair, side: str, reef: str) -> Sample:
    read.record.cells |= dict.fromkeys(pair.cells)
    return Sample(getattr(pair, side), IN_MS["unit"] if reef in IN_MS["reef"] else PLAIN["unit"])


@fact("reefs.pair.{reef}.{side}", status="computed", side=SIDES, **IN_MS)
@fact("reefs.pair.{reef}.{side}", status="computed", side=SIDES, **PLAIN)
def farthest(read, reef, side):
    """what a row says, or what was true, in the row where these lie farthest apart"""
    return one_side(read, max(told_apart(read, reef), key=lambda pair: pair.apart), side, reef)


@fact("reefs.pair.{reef}.r{row}.{side}", status="computed", side=SIDES, row=ROWS, **IN_MS)
@fact("reefs.pair.{reef}.r{row}.{side}", status="computed", side=SIDES, row=ROWS, **PLAIN)
def row_of(read, reef, side, row):
    """what a row says, or what was true, in the rows where these lie farthest apart, in the order of the files"""
    known = told_apart(read, reef)
    if row > len(known):
        raise Missing("no further row shows this hazard in a pair of numbers")
    return one_side(read, known[row - 1], side, reef)
