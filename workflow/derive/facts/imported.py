"""What an imported campaign says: the tools that wrote its files, what the import checked and left out, and the ends of what the rows span."""

import re
import unicodedata

import numpy as np

from workflow.derive.fact import Cell
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample
from workflow.derive.shown import OF_ROW

MORE = re.compile(r"and (\d+) more")
"""Last line of a list of remarks that was too long to be kept whole."""
BEST = {
    "output_throughput": ("output_throughput", "token/s"),
    "ttft_ms": ("mean_ttft_ms", "ms"),
    "tpot_ms": ("mean_tpot_ms", "ms/token"),
}
"""Part of the key -> column and unit, of the row that serves the most."""


def manifests(read) -> dict[str, dict]:
    """Manifests of imported files by their CSV."""
    found = {file: manifest for file, manifest in sorted(read.campaign.manifests.items()) if manifest.get("status") == "imported"}
    if not found:
        raise Missing("this campaign was not imported from files of other tools")
    return found


def about(read, part: str):
    """One part of what the import recorded, the same in all of its manifests."""
    file, manifest = next(iter(manifests(read).items()))
    read.record.cells[Cell(file.removesuffix(".csv") + ".manifest.json", f"import.{part}", "")] = None
    read.record.statuses.append("imported")
    return manifest["import"][part]


@fact("imported.tools", kind="label")
def tools(read):
    """tools that wrote the files, with their versions where the files say them"""
    return ", ".join(about(read, "tools")) or "unknown tool"


@fact("imported.files", kind="count")
def files(read):
    """result files that were read"""
    return len(about(read, "sources"))


@fact("imported.rows", kind="count")
def rows(read):
    """rows and scores that were kept"""
    return sum(source["rows"] for source in about(read, "sources"))


@fact("imported.checks.{end}", kind="count", end=("run", "passed"))
def checks(read, end):
    """checksums over the imported numbers: how many ran, how many hold"""
    found = about(read, "checks")
    if not found:
        raise Missing("the files hold no two numbers that a checksum could compare")
    return sum(check[end] for check in found.values())


@fact("imported.{what}", kind="count", what=("dropped", "faults"))
def remarks(read, what):
    """kinds of values that were read and left out, or parts of files that could not be read"""
    lines = about(read, what)
    more = MORE.fullmatch(lines[-1]) if lines else None
    return len(lines) if more is None else len(lines) - 1 + int(more[1])


def good(read) -> list[Rows]:
    """The points of each file that ended well."""
    manifests(read)
    found = []
    for family in read.campaign.families:
        table = read.campaign.find("points", family)
        if len(table.select({"status": "ok"})):
            found.append(read.points(family, stage=tuple(table.distinct("stage")), status="ok"))
    if not found:
        raise Missing("no imported row ended well")
    return found


def known(each: Rows, column: str) -> np.ndarray:
    """Which of these rows have the column."""
    return np.isfinite(each.table.numbers(column)[each.index])


def best(read) -> Rows:
    """The row with the largest output throughput."""
    candidates = [each.where_true(known(each, "output_throughput")) for each in good(read)]
    candidates = [each for each in candidates if len(each)]
    if not candidates:
        raise Missing("no imported row has an output throughput")
    top = max(candidates, key=lambda each: each.table.numbers("output_throughput")[each.index].max())
    values = top.table.numbers("output_throughput")[top.index]
    return top.where_true(np.arange(len(values)) == values.argmax())


def register(part: str, column: str, unit: str) -> None:
    @fact(f"imported.best.{part}", kind="rate" if unit == "token/s" else "duration", unit=unit)
    def of_best(read):
        """value of the row with the largest output throughput"""
        return best(read).sum(column)


for part, (column, unit) in BEST.items():
    register(part, column, unit)


@fact("imported.best.label", kind="label")
def best_label(read):
    """arm of the row with the largest output throughput"""
    return plain(best(read).texts("label")[0])


def plain(text: str) -> str:
    """A label from outside without full-width forms, which would break the spacing of the line that it is spliced into."""
    return unicodedata.normalize("NFKC", text)


@fact("imported.best.max_concurrency", kind="count")
def best_concurrency(read):
    """requests that the client kept in flight there"""
    return best(read).sum("max_concurrency")


@fact("imported.served", kind="count")
def served(read):
    """rows with an output throughput"""
    found = counted(read, "output_throughput")
    if not found:
        raise Missing("no imported row has an output throughput")
    return found


def counted(read, column: str) -> int:
    """Rows that have a column; their cells are the source."""
    return sum(len(each.where_true(keep).read(column)) for each in good(read) if (keep := known(each, column)).any())


@fact("imported.lowest.output_throughput", kind="rate", unit="token/s")
def lowest(read):
    """smallest output throughput of a row"""
    return end_of(read, "output_throughput", "least")


def end_of(read, column: str, which: str) -> Sample:
    """The smallest or largest value of a column over all rows that have it."""
    pick = min if which == "least" else max
    found = [each.where_true(known(each, column)) for each in good(read)]
    found = [each for each in found if len(each)]
    if not found:
        raise Missing(f"no imported row has {column}")
    ends = []
    for each in found:
        values = each.table.numbers(column)[each.index]
        ends.append((pick(values), each.where_true(values == pick(values))))
    _, rows = pick(ends, key=lambda one: one[0])
    return rows.where_true(np.arange(len(rows)) == 0).sum(column)


@fact("imported.accept.{which}", kind="length", unit="token/round", which=("least", "most"))
def accept(read, which):
    """smallest or largest accept length of a row"""
    return end_of(read, "accept_length", which)


@fact("imported.accept.rows", kind="count")
def accept_rows(read):
    """rows with an accept length"""
    found = counted(read, "accept_length")
    if not found:
        raise Missing("no imported row has accept_length")
    return found


@fact("imported.accept.pooled_rows", kind="count")
def pooled(read):
    """rows whose accept length was counted over the run itself"""
    if not counted(read, "accept_length"):
        raise Missing("no imported row has accept_length")
    total = 0
    for each in good(read):
        if "accept_scope" in each.table.columns:
            total += sum(text in ("window", "requests") for text in each.texts("accept_scope"))
    return total


@fact("imported.scores", kind="count")
def scores(read):
    """scores of accuracy runs"""
    manifest = manifests(read).get("figures.csv")
    if manifest is None:
        raise Missing("no scores were imported")
    read.record.cells[Cell("figures.manifest.json", "rows", "")] = None
    read.record.statuses.append("imported")
    return manifest["rows"]


# rows one by one, in the order of the files, as far as a plate has room

PLACES = tuple(range(1, 13))
LONGEST = 28
"""Characters of a row's name on the plate."""


def row_at(read, row: int) -> Rows:
    """The row in this place among those with an output throughput."""
    left = row
    for each in good(read):
        shown = each.where_true(known(each, "output_throughput"))
        if left <= len(shown):
            return shown.where_true(np.arange(len(shown)) == left - 1)
        left -= len(shown)
    raise Missing(f"{row - left} imported rows have an output throughput")


def register_row(part: str, column: str, kind: str, unit: str) -> None:
    @fact(f"imported.r{{row}}.{part}", kind=kind, unit=unit, row=PLACES)
    def of_row(read, row):
        """value of one imported row"""
        return row_at(read, row).sum(column)


for part, (column, kind, unit) in OF_ROW.items():
    register_row(part, column, kind, unit)


@fact("imported.r{row}.name", kind="label", row=PLACES)
def row_name(read, row):
    """label of the row and the load that it was measured under"""
    rows = row_at(read, row)
    load = []
    for column, mark in (("isl", "in "), ("osl", "out "), ("max_concurrency", "c")):
        if column in rows.table.columns and (text := rows.texts(column)[0]):
            load.append(mark + text)
    name, tail = plain(rows.texts("label")[0]), " · ".join(load)
    room = max(LONGEST - len(tail), 8)
    return (name if len(name) <= room else name[: room - 2] + "..") + (f" {tail}" if tail else "")
