"""The index of numbers: a row a fact, with its inputs and the cells it was read from; what the cards show, without JavaScript and in print."""

from __future__ import annotations

import re
from collections import defaultdict
from fnmatch import fnmatchcase, translate
from typing import NamedTuple

from markupsafe import Markup

from workflow.derive.fact import Fact
from workflow.derive.values import natural
from workflow.page.dialect import parse
from workflow.page.document import inline
from workflow.page.literals import Literals
from workflow.page.lookup import Lookup
from workflow.page.provenance import raw
from workflow.page.splice import Context, data_element
from workflow.page.strings import Strings
from workflow.page.view import Group

CELLS = 6
"""Source cells shown a fact; a mean over more files says how many more there are."""
PLACES = 8


def family(key: str) -> str:
    return key.partition(".")[0]


class Names:
    """Human names of facts: the first pattern of strings.yaml that fits; each name is rendered once."""

    def __init__(self, context: Context, strings: Strings):
        self._context, self._file = context, strings.files["facts"]
        spoken = [(pattern, str(texts[context.language])) for pattern, texts in strings.section("facts").items() if context.language in texts]
        self._patterns = [(family(pattern), re.compile(translate(pattern)).match, text) for pattern, text in spoken]
        self._of_family: dict[str, list] = {}
        self._rendered: dict[str, Markup] = {}

    def __getitem__(self, key: str) -> Markup:
        if (name := family(key)) not in self._of_family:
            self._of_family[name] = [(matches, text) for pattern, matches, text in self._patterns if fnmatchcase(name, pattern)]
        text = next((text for matches, text in self._of_family[name] if matches(key)), "")
        if text not in self._rendered:
            self._rendered[text] = Markup(inline(parse(text, self._file), self._context, self._file))
        return self._rendered[text]


def groups(context: Context, strings: Strings, keys: set[str], places: dict[str, list[str]], report: str) -> tuple[Group, ...]:
    """Rows of the facts `keys`, by family. `places`: key -> ids on the report; `report`: link to it."""
    families, names = defaultdict(list), Names(context, strings)
    for key in sorted(keys, key=natural):
        families[family(key)].append(_row(context.lookup.fact(key), context, names, keys, places.get(key, []), report))
    return tuple(Group(name, tuple(rows)) for name, rows in families.items())


class CellRow(NamedTuple):
    """Where a fact was read. `href` is empty for files that are not on the site (thresholds)."""

    href: str
    file: str
    row: str
    column: str
    where: str


class FactRow(NamedTuple):
    """One fact as the index prints it. (Templates read an attribute at once, and a dict's key only after a failed attribute.)"""

    key: str
    name: Markup
    missing: bool
    shown: Markup
    raw: str
    unit: str
    status: str
    interval: str
    resampled: str
    formula: str
    parents: list[tuple[str, str]]
    """Keys, and links to those that have a row here."""
    reason: str
    cells: list[CellRow]
    more: int
    """Cells that are not listed."""
    places: list[tuple[str, str]]
    """Links to where the report shows it."""


def _row(fact: Fact, context: Context, names: Names, keys: set[str], places: list[str], report: str) -> FactRow:
    return FactRow(
        key=fact.key,
        name=names[fact.key],
        missing=fact.missing,
        shown=Markup("") if fact.missing else Markup(data_element(fact, context.formatter(fact, context.language))),
        raw=raw(fact),
        unit=fact.unit,
        status=fact.status,
        interval=f"{fact.lo:.6g} … {fact.hi:.6g}" if fact.lo is not None and fact.hi is not None else "",
        resampled=fact.resampled or (f"n = {fact.n}" if fact.n else ""),
        formula=fact.formula,
        parents=[(parent, f"#{parent}" if parent in keys else "") for parent in fact.parents],
        reason=fact.reason,
        cells=[_cell(cell, context.lookup) for cell in fact.source[:CELLS]],
        more=max(0, len(fact.source) - CELLS),
        places=[(f"{report}#{place}", place) for place in places[:PLACES]],
    )


def _cell(cell, lookup: Lookup) -> CellRow:
    published = cell.file.replace(".manifest.json", ".csv") in lookup.values.runs
    return CellRow(f"data/{cell.file}" if published else "", cell.file, cell.row, cell.column, cell.where)


def claim_rows(lookup: Lookup, keys: set[str], places: dict[str, list[str]], report: str) -> tuple[dict, ...]:
    rows = []
    for key, claim in sorted(lookup.values.claims.items(), key=lambda item: natural(item[0])):
        margin = " ".join(
            part
            for part in (
                f"{claim.margin:.4g}" if claim.margin is not None else "",
                f"± {claim.noise:.4g}" if claim.noise is not None else "",
                claim.measure,
            )
            if part
        )
        rows.append(
            {
                "key": key,
                "verdict": claim.verdict,
                "statement": f"[{claim.kind}] {claim.statement}".strip(),
                "reason": claim.reason,
                "margin": margin,
                "evidence": [(name, f"#{name}" if name in keys else "") for name in claim.evidence],
                "places": [(f"{report}#{place}", place) for place in places.get(key, [])[:PLACES]],
            }
        )
    return tuple(rows)


def literal_rows(literals: Literals, language: str) -> tuple[tuple[str, Markup, str], ...]:
    declared = [(name, Markup(literal.html(language)), literal.reason) for name, literal in sorted(literals.literals.items())]
    marked = [(name, Markup(f"<code>{name}</code>"), reason) for name, reason in sorted(literals.definitions.items())]
    return (*declared, *marked)
