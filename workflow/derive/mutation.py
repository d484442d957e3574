"""Mutation of the measured cells: every number of the report must move when one of its sources does, and nothing else may.

A number that no mutation moves is typed, cached or read from elsewhere. A number that moves although the graph of facts does not
lead from the mutated cell to it has a source that nobody recorded. Compared on unrounded values, in one process, without resampling.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from workflow.derive import schema
from workflow.derive.evaluate import Derivation, Result
from workflow.derive.fact import Cell
from workflow.derive.load import Campaign, Table, family_files
from workflow.derive.reader import SKIPPED_ROWS, at_path
from workflow.derive.schema import types_of
from workflow.derive.thresholds import read_thresholds

SELECTORS = frozenset((
    "run_id", "stage", "label", "lane", "block_size", "boot", "boot_id", "repeat", "in_boot_pass", "content", "isl", "max_concurrency",
    "request_rate", "status", "kind", "metric", "comparison", "round", "role", "slot", "request_id", "prompt_id", "mode", "model",
    "quantity", "batch", "width", "fused_verify", "config", "task", "problem",
))  # fmt: skip
"""Columns by which rows are chosen: a mutation there regroups the rows of the file, so all of its facts may move."""
FACTORS = (1.37, 0.6, 4.0, 0.2, 0.0)
LIFT = 1000
"""Added to a zero under the largest factor: a label that names the most frequent of several counts moves when an empty one overtakes."""
EVERY_MANIFEST = "*.manifest.json"
"""File of a mutation that changes one field in every manifest that has it: facts of the whole campaign need it to agree."""
WHOLE_FILES = ("mutation.", "reefs.")
"""Facts about the mutation run itself, and those of detectors that read whole files: proven by planted cases (tests), not by cells."""
BY_DEFINITION = ("window.verify_ratio.w1",)
"""Facts that are one whatever was measured: T_decode / T_decode, where the axis of widths begins. Not put to the test."""
BY_FOLDER = ("run.campaign",)
"""What the campaign's folder tells, and no row."""
FAILURES = (ValueError, ArithmeticError, LookupError, TypeError)
"""A build that fails on the mutated cell has caught it."""


@dataclass(frozen=True)
class Mutation:
    """One change: `lines` of one column take new texts; without a column the rows go; without lines it is a manifest field."""

    file: str
    column: str
    lines: tuple[int, ...]
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" lines {self.lines[0]}" + ("…" if len(self.lines) > 1 else "") if self.lines else ""
        return f"{self.file}{where} {self.column or '(rows removed)'} -> {self.texts[0] if self.texts else ''}"


@dataclass
class Outcome:
    """What a run found."""

    keys: list[str]
    proven: dict[str, str] = field(default_factory=dict)
    """Key -> the mutation that moved it."""
    strays: list[str] = field(default_factory=list)
    """Keys that moved against the graph, with the mutation."""
    mutations: int = 0

    @property
    def unproven(self) -> list[str]:
        return [key for key in self.keys if key not in self.proven]

    @property
    def score(self) -> float:
        return len(self.proven) / len(self.keys) if self.keys else 1.0


class Prover:
    """Mutates copies of one campaign and compares the facts with those of the original."""

    def __init__(self, campaign: Campaign, seed: int = 0):
        self.campaign = campaign
        self.random = random.Random(seed)
        self.base = Derivation(campaign, resamples=0)
        self._lines: dict[str, dict[tuple[str, str], int]] = {}

    @cached_property
    def results(self) -> dict[str, Result]:
        """Every fact of the campaign as it was measured."""
        for key in self.base.definitions:
            self.base.result(key)
        return self.base.results

    def keys(self) -> list[str]:
        """Every fact with a value, but for those about the mutation run itself and those that are one by definition."""
        return [
            key
            for key, result in self.results.items()
            if not result.fact.missing and not key.startswith(WHOLE_FILES) and key not in (*BY_DEFINITION, *BY_FOLDER)
        ]

    def sources(self, key: str) -> dict[tuple[str, str], int]:
        """(file, column) -> bit set of the lines that a fact rests on, through all of its parents and of the facts it asked for."""
        if key not in self._lines:
            found: dict[tuple[str, str], int] = {}
            result = self.results.get(key)
            if result is None:  # a key that was asked for and does not exist
                return {}
            self._lines[key] = found
            for cell in result.fact.source:
                if cell.where == SKIPPED_ROWS:
                    continue
                place = (cell.file, cell.column.partition("[")[0] if cell.column else cell.row)
                bits = 0
                for first, last in spans(cell.row) if cell.column else ():
                    bits |= ((1 << (last - first + 1)) - 1) << first
                found[place] = found.get(place, 0) | bits
            for parent in (*result.fact.parents, *result.record.asked):
                for place, bits in self.sources(parent).items():
                    found[place] = found.get(place, 0) | bits
        return self._lines[key]

    def leaves(self, key: str) -> list[Cell]:
        """Column slices that a fact rests on, through all of its parents, each once."""
        found: dict[Cell, None] = {}
        todo, seen = [key], set()
        while todo:
            name = todo.pop()
            if name not in seen:
                seen.add(name)
                fact = self.base.result(name).fact
                found |= {cell: None for cell in fact.source if cell.column and cell.where != SKIPPED_ROWS}
                todo.extend(fact.parents)
        return list(found)

    @cached_property
    def readers(self) -> dict[tuple[str, str], set[str]]:
        """(file, column) -> facts that rest on it."""
        found: dict[tuple[str, str], set[str]] = {}
        for key in self.results:
            for place in self.sources(key):
                found.setdefault(place, set()).add(key)
        return found

    def run(self, keys: list[str], tries: int = 600, cells: bool = False) -> Outcome:
        """Prove each key by some mutation of its sources; with `cells`, also mutate every numeric cell of the points files.

        Of request and step files one seeded cell a point and column is taken there.
        """
        outcome = Outcome(list(keys))
        wanted = set(keys)
        if cells:
            for mutation in self.every_cell():
                self.try_one(mutation, outcome, wanted)
        order = list(keys)
        self.random.shuffle(order)
        for key in order:
            for mutation, _ in zip(self.proposals(key), range(tries), strict=False):
                if key in outcome.proven:
                    break
                self.try_one(mutation, outcome, wanted)
        return outcome

    def try_one(self, mutation: Mutation, outcome: Outcome, wanted: set[str]) -> None:
        outcome.mutations += 1
        for key, value in self.moved(mutation).items():
            if key in wanted and self.proves(key, mutation, value):
                outcome.proven.setdefault(key, str(mutation))
            if not self.expected(key, mutation):
                outcome.strays.append(f"{key}: {mutation}")

    def proves(self, key: str, mutation: Mutation, value) -> bool:
        """Whether a change shows that the number comes from its sources.

        A fact that went missing only showed that its function reads the rows; it may return a constant. Rows that were removed
        prove a count or a label, which are about rows, and nothing that is computed from their cells.
        """
        return value is not None and (bool(mutation.column) or self.results[key].fact.kind in ("count", "label"))

    def expected(self, key: str, mutation: Mutation) -> bool:
        """Whether the graph leads from the mutated cells to the fact."""
        if mutation.column in SELECTORS or not mutation.column or key.startswith(WHOLE_FILES):  # the latter choose rows among all of a file
            return True
        if mutation.file == EVERY_MANIFEST:
            return key in self.suspects(mutation)
        bits = self.sources(key).get((mutation.file, mutation.column))
        return bits is not None and (not mutation.lines or any(bits >> line & 1 for line in mutation.lines))

    def suspects(self, mutation: Mutation) -> set[str]:
        """Facts that rest on the mutated column or field."""
        if mutation.file != EVERY_MANIFEST:
            return self.readers.get((mutation.file, mutation.column), set())
        places = [place for place in self.readers if place[1] == mutation.column and place[0].endswith(".manifest.json")]
        return set().union(*(self.readers[place] for place in places))

    def moved(self, mutation: Mutation) -> dict[str, float | int | str | None]:
        """Keys whose value differs after a mutation, with the new one; None where it cannot be computed."""
        try:
            changed = self.apply(mutation)
        except FAILURES:  # e.g. rows whose point no longer has their name: nothing is built from such files
            return dict.fromkeys(sorted(self.suspects(mutation)))
        derivation = self.derivation(mutation, changed)
        if not regroups(mutation):
            suspects = self.suspects(mutation)
            derivation.results |= {k: r for k, r in self.results.items() if k not in suspects and not k.startswith("threshold.")}
        else:
            suspects = {key for key in self.results if not key.startswith(WHOLE_FILES)}
        found = {}
        for key in suspects:
            try:
                value = derivation.result(key).fact.value
            except FAILURES:
                value = None
            if value != self.results[key].fact.value:
                found[key] = value
        return found

    def derivation(self, mutation: Mutation, changed: Campaign | dict) -> Derivation:
        """Of the campaign, or under the thresholds, that a mutation left: nothing derived yet, and of the original what the mutation cannot touch."""
        if isinstance(changed, dict):
            derivation = Derivation(self.campaign, resamples=0, thresholds=changed)
        else:
            derivation = Derivation(changed, resamples=0)
        if not regroups(mutation):
            derivation.domains, derivation.definitions = self.base.domains, self.base.definitions
            derivation._weights = dict(self.base._weights)
            derivation._bits = self.base._bits
        return derivation

    def apply(self, mutation: Mutation) -> Campaign | dict:
        """The campaign, or the thresholds, after a mutation."""
        if mutation.file.endswith("thresholds.yaml"):
            thresholds = copy.deepcopy(read_thresholds())
            table, name = _threshold(thresholds, mutation.column)
            table[name] = float(mutation.texts[0])
            return thresholds
        if mutation.file == EVERY_MANIFEST:
            return self.with_field(list(self.campaign.manifests), mutation.column)
        if mutation.file.endswith(".manifest.json"):
            return self.with_field([mutation.file.removesuffix(".manifest.json") + ".csv"], mutation.column)
        table = own(self.campaign.tables[mutation.file])
        place = {line: row for row, line in enumerate(table.lines)}
        rows = [place[line] for line in mutation.lines]
        if not mutation.column:
            return self.without(table, rows)
        cells = list(table.columns[mutation.column])
        for row, text in zip(rows, mutation.texts, strict=True):
            cells[row] = text
        return self.campaign.with_table(replace(table, columns=table.columns | {mutation.column: tuple(cells)}, _cache={}))

    def without(self, table: Table, rows: list[int]) -> Campaign:
        """The campaign without some rows; a point takes its request and step rows with it."""
        gone = {table.columns["run_id"][row] for row in rows} if table.kind == "points" else set()
        campaign = self.campaign
        tables = dict(campaign.tables) | {table.file: drop(table, set(rows))}
        for name in family_files(table.file):
            if gone and name in tables and name != table.file:
                other = own(tables[name])
                tables[name] = drop(other, {i for i, run_id in enumerate(other.columns["run_id"]) if run_id in gone})
        return replace(campaign, tables=tables).with_table(tables[table.file])

    def with_field(self, files: list[str], path: str) -> Campaign:
        """The campaign with one field changed in those of the manifests that have it: numbers grow, texts get a letter, truths turn."""
        manifests = dict(self.campaign.manifests)
        parents, _, last = path.rpartition(".")
        for file in files:
            manifest = copy.deepcopy(manifests[file])
            if (value := at_path(manifest, path)) is not None:
                place = at_path(manifest, parents) if parents else manifest
                place[int(last) if isinstance(place, list) else last] = other(value)
                manifests[file] = manifest
        return replace(self.campaign, manifests=manifests)

    def proposals(self, key: str) -> Iterator[Mutation]:
        """Mutations of a fact's sources: single cells first, then rows, then whole slices, one arm's or all of them."""
        places = sorted(self.sources(key).items())
        self.random.shuffle(places)
        for (file, column), bits in places:
            if not bits:
                yield Mutation(file, column, (), (other_field(file, column),))
                if file.endswith(".manifest.json"):
                    yield Mutation(EVERY_MANIFEST, column, (), (other_field(file, column),))
        tables = [(self.campaign.tables[file], column, lines_of(bits)) for (file, column), bits in places if bits]
        files = {table.file: lines for table, _, lines in tables}
        slots = self.slots(key)
        for factor in FACTORS[:2]:
            for table, column, lines in tables:
                yield from self.cells_mutation(table, column, [self.random.choice(lines)], factor, slots.get((table.file, column), ()))
        slices = self.leaves(key)
        self.random.shuffle(slices)
        if self.results[key].fact.kind in ("count", "label"):
            for file, lines in files.items():
                yield Mutation(file, "", (self.random.choice(lines),))
            for file, rows in dict.fromkeys((cell.file, cell.row) for cell in slices):
                yield Mutation(file, "", tuple(line for first, last in spans(rows) for line in range(first, last + 1)))
        for factor in FACTORS[2:]:
            for table, column, lines in tables:
                yield from self.cells_mutation(table, column, lines, factor, slots.get((table.file, column), ()))
                yield from self.cells_mutation(table, column, [self.random.choice(lines)], factor)
        for factor in (0.2, 4.0):
            for cell in slices:
                lines = [line for first, last in spans(cell.row) for line in range(first, last + 1)]
                yield from self.cells_mutation(self.campaign.tables[cell.file], cell.column.partition("[")[0], lines, factor)

    def slots(self, key: str) -> dict[tuple[str, str], list[int]]:
        """(file, column) -> places of that column's lists on which a fact rests, in a drawn order."""
        found: dict[tuple[str, str], list[int]] = {}
        for cell in self.leaves(key):
            column, _, slot = cell.column.partition("[")
            if slot:
                found.setdefault((cell.file, column), []).append(int(slot.rstrip("]")))
        for places in found.values():
            places[:] = sorted(set(places))
            self.random.shuffle(places)
        return found

    def cells_mutation(
        self, table: Table, column: str, lines: list[int], factor: float, slots: Sequence[int] = ()
    ) -> Iterator[Mutation]:
        """Cells of one column times a factor, each kept within its schema where that is possible.

        Of a column of lists, one mutation for each of the `slots`; without any, a drawn one.
        """
        properties = schema.schema(table.kind)["properties"]
        if column not in table.columns or column not in properties:  # asked for and not there, or joined from the points
            return
        place = {line: row for row, line in enumerate(table.lines)}
        rule = properties[column]
        old = tuple(table.columns[column][place[line]] for line in lines)
        for slot in slots or (self.random.randrange(64),):
            texts = tuple(changed(text, rule, factor, slot) for text in old)
            if texts != old:
                yield Mutation(table.file, column, tuple(lines), texts)

    def every_cell(self) -> Iterator[Mutation]:
        """Every numeric cell of the points files; one seeded cell a point and column of request and step files."""
        for table in self.campaign.tables.values():
            properties = schema.schema(table.kind)["properties"]
            numeric = [name for name in table.columns if name in properties and {"number", "integer"} & set(types_of(properties[name]))]
            groups: dict[str, list[int]] = {}
            for row, run_id in enumerate(table.columns.get("run_id", map(str, range(len(table))))):
                groups.setdefault(run_id if table.kind in ("requests", "steps") else str(row), []).append(row)
            for rows in groups.values():
                for column in numeric:
                    row = self.random.choice(rows)
                    if table.columns[column][row]:
                        yield from self.cells_mutation(table, column, [table.lines[row]], FACTORS[0])


def regroups(mutation: Mutation) -> bool:
    """Whether rows may belong elsewhere after it: other keys, other weights."""
    return mutation.column in SELECTORS or not mutation.column


def changed(text: str, rule: dict, factor: float, slot: int = 0) -> str:
    """Another text for a cell: a number times the factor, a list with one count raised, an enumeration's other value (each factor takes another), a longer text, or by factor 0 the same for all."""
    if not text:
        return text
    if "enum" in rule:
        values = [str(value) for value in rule["enum"] if value is not None]
        # a count of one value moves only when some row gets that one, which need not be the next
        further = 1 + (FACTORS.index(factor) if factor in FACTORS else 0) % max(1, len(values) - 1)
        return values[(values.index(text) + further) % len(values) if factor else 0]
    if {"number", "integer"} & set(types_of(rule)):
        whole = "integer" in types_of(rule)
        lift = LIFT if factor == max(FACTORS) else 1  # a count of nothing grows by no factor
        for candidate in (float(text) * factor, float(text) / (factor or 2), float(text) + lift, float(text) + 1, float(text) - 1):
            new = str(round(candidate)) if whole else repr(candidate)
            if float(new) != float(text) and schema.rule_of(rule)(new):
                return new
        return text
    if ";" in text:
        counts = text.split(";")
        counts[slot % len(counts)] = str(int(counts[slot % len(counts)]) + 7)
        return ";".join(counts)
    return text + "x" if factor else "x"


def other(value):
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return type(value)(value * 2 + 1)
    if isinstance(value, list):
        return [other(item) for item in value]
    return "x" + value


def other_field(file: str, column: str) -> str:
    """Another value of a threshold; a manifest's field is changed when it is applied, from what stands there."""
    if not file.endswith("thresholds.yaml"):
        return "another value"
    table, name = _threshold(read_thresholds(), column)
    return str(table[name] * (0.9 if name == "level" else 1.37))  # a level stays a share


def _threshold(thresholds: dict, column: str) -> tuple[dict, str]:
    """The table of thresholds.yaml that holds a bound, and the bound's name there. Names of claims have dots."""
    if column == "bootstrap.level":
        return thresholds["bootstrap"], "level"
    return thresholds["claims"][column.removeprefix("claims.").removesuffix(".bound")], "bound"


def own(table: Table) -> Table:
    """A table with the columns of its own file only."""
    properties = schema.schema(table.kind)["properties"]
    return replace(table, columns={name: cells for name, cells in table.columns.items() if name in properties}, _cache={})


def drop(table: Table, rows: set[int]) -> Table:
    keep = [i for i in range(len(table)) if i not in rows]
    columns = {name: tuple(cells[i] for i in keep) for name, cells in table.columns.items()}
    return replace(table, columns=columns, lines=tuple(table.lines[i] for i in keep), _cache={})


def spans(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield int(first), int(last or first)


def lines_of(bits: int) -> list[int]:
    return [line for line in range(bits.bit_length()) if bits >> line & 1]
