"""What the functions of facts and claims read through; every access is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workflow.derive.fact import Cell
from workflow.derive.load import file_name
from workflow.derive.registry import DefinitionError
from workflow.derive.rows import Missing, Record, Rows
from workflow.derive.sample import Sample

if TYPE_CHECKING:
    from workflow.derive.evaluate import Derivation, Result


SKIPPED_ROWS = "status=skipped"
"""What a cell of a skipped row says of its rows: no mutation of measured cells reaches it."""
CHOSEN_BY = {"content": "content", "one_content": "content", "arm": "arm", "lane": "lane", "isl": "isl", "concurrency": "max_concurrency", "level": "max_concurrency", "mode": "mode"}
"""Field of a key -> the condition that selects its rows. A block size (`gamma`) may be foretold from the runs at others."""


class WrongRows(DefinitionError):
    """A fact whose rows are not those that its key names."""


class Unresolved(Exception):
    """A claim that the data leave open for a reason other than the size of its margin."""


class Read:
    """What a fact's function reads through: other facts by key, rows of measured files, manifests. It records every access."""

    def __init__(self, derivation: Derivation, fields: dict | None = None):
        self.derivation = derivation
        self.fields = fields or {}
        """Fields of the key that is being computed: its rows may not contradict them."""
        self.campaign = derivation.campaign
        self.record = Record()

    def fact(self, key: str) -> Result:
        """The result of another fact. Raises Missing with that fact's reason."""
        result = self.derivation.result(key)
        self.record.parents[key] = None
        if result.fact.missing:
            raise Missing(result.fact.reason)
        return result

    def __getitem__(self, key: str) -> Sample:
        result = self.fact(key)
        if result.sample is None:
            raise TypeError(f"{key} is a label; read it with .label()")
        return result.sample

    def label(self, key: str) -> str:
        return str(self.fact(key).fact.value)

    def has(self, key: str) -> bool:
        """Whether a fact exists and is not missing. Not a parent: a fact's value comes from what it reads afterwards."""
        self.record.asked.add(key)
        return key in self.derivation.definitions and not self.derivation.result(key).fact.missing

    def present(self, keys) -> list[str]:
        """Those of the keys that are not missing, recorded as parents; Missing when none is."""
        keys = list(keys)
        for key in (found := [key for key in keys if self.has(key)]) or keys[:1]:
            self.fact(key)
        return found

    def largest(self, keys) -> str:
        """The key with the largest value among those present."""
        return max(self.present(keys), key=lambda key: self[key].value)

    def points(self, family: str, **where) -> Rows:
        return self._rows("points", family, where)

    def requests(self, family: str, **where) -> Rows:
        return self._rows("requests", family, where)

    def steps(self, family: str, **where) -> Rows:
        return self._rows("steps", family, where)

    def noise(self, **where) -> Rows:
        return self._rows("noise", "noise", where)

    def trace(self, **where) -> Rows:
        return self._rows("trace", "trace", where)

    def figures(self, **where) -> Rows:
        return self._rows("figures", "figures", where)

    def external(self, **where) -> Rows:
        return self._rows("external", "external", where)

    def published(self, **where) -> Rows:
        return self._rows("published", "published", where)

    def kernels(self, **where) -> Rows:
        return self._rows("kernels", "kernels", where)

    def predicates(self, **where) -> Rows:
        return self._rows("predicates", "predicates", where)

    def costs(self, **where) -> Rows:
        return self._rows("verify_cost", "verify_cost", where)

    def gate(self, **where) -> Rows:
        return self._rows("gate", "gate", where)

    def pages(self, **where) -> Rows:
        return self._rows("pages", "pages", where)

    def instrument(self, **where) -> Rows:
        return self._rows("instrument", "instrument", where)

    def skipped(self, file: str) -> list[str]:
        """Why the rows of a file that were skipped were not measured; a file of before such rows, which has none at all, says it in its manifest."""
        table = self.campaign.skipped.get(file)
        if table is None:
            told = self.campaign.manifests[file].get("notes") and not len(self.campaign.tables[file])
            return self.field(file, "notes") if told else []
        self.record.cells[Cell(file, ",".join(map(str, table.lines)), "note", SKIPPED_ROWS)] = None
        self.record.statuses.append(status_of(self.campaign.manifests[file]))
        return list(table.columns["note"])

    def field(self, file: str, path: str):
        """One field of the manifest of one file, which need not be that of a points file; Missing when it is absent."""
        manifest = self.campaign.manifests.get(file)
        if manifest is None:
            raise Missing(f"{file} is not part of this campaign")
        value = at_path(manifest, path)
        name = file.removesuffix(".csv") + ".manifest.json"
        if value is None:
            raise Missing(f"{name} has no {path}")
        self.record.cells[Cell(name, path, "")] = None
        self.record.statuses.append(status_of(manifest))
        return value

    def manifest(self, path: str, family: str = ""):
        """One field of the manifests, equal in all of them; Missing when it is absent or they differ."""
        found = {}
        for name, manifest in self.campaign.commands.items():
            if family in ("", name):
                value = at_path(manifest, path)
                if value is not None:
                    found[name] = value
                    self.record.cells[Cell(manifest_name(name), path, "")] = None
                    self.record.timed |= path.endswith("_s")
                    self.record.statuses.append(status_of(manifest))
        if not found:
            raise Missing(f"no manifest of this campaign has {path}" if not family else f"{manifest_name(family)} has no {path}")
        if any(value != next(iter(found.values())) for value in found.values()):
            raise Missing(f"the manifests disagree on {path}: {', '.join(f'{name} {value}' for name, value in found.items())}")
        return next(iter(found.values()))

    def look(self, path: str, family: str):
        """A list or a mapping in the manifest of a command, to find a place in; what is read there is read by `manifest`. Missing when absent."""
        value = at_path(self.campaign.commands.get(family), path)
        if value is None:
            raise Missing(f"{manifest_name(family)} has no {path}")
        return value

    def _rows(self, kind: str, family: str, where: dict) -> Rows:
        table = self.campaign.find(kind, family)
        if table is None:
            raise Missing(f"{file_name(kind, family)} is not part of this campaign")
        self._check_rows(where)
        conditions = row_conditions(kind, family, where, table)
        index = table.select(conditions)
        text = " ".join(f"{name}={'|'.join(map(str, v)) if isinstance(v, tuple) else v}" for name, v in where.items())
        if len(index) == 0:
            raise Missing(why_empty(table, conditions, text))
        if where.get("content") == "all":
            have = {table.columns["content"][i] for i in index}
            lacking = [name for name in table.distinct("content") if name not in have]
            if lacking:
                raise Missing(f"{table.file} has no good row of content {lacking[0]} for {text}")
        return Rows(
            table, index, self.derivation.weights(table), family, text, self.record, status_of(self.campaign.manifests.get(table.file, {}))
        )


    def _check_rows(self, where: dict) -> None:
        """A fact of one arm, content, length or level takes rows of it, of plain decoding beside it, or of several together."""
        for field in self.fields.keys() & CHOSEN_BY.keys():
            value = self.fields[field]
            asked = where.get(CHOSEN_BY[field], value)
            if asked not in (value, "plain") and value != "all" and not isinstance(asked, tuple):
                raise WrongRows(f"reads rows of {CHOSEN_BY[field]} {asked}, but its key says {field} {value}")


class ClaimRead(Read):
    """What a claim's function reads through: facts, thresholds, the A/A noise. Can shift one fact to see what noise does to the margin."""

    def __init__(self, derivation: Derivation, shift: tuple[str, float] | None = None):
        super().__init__(derivation)
        self.shift = shift
        self.used: dict[str, None] = {}
        self.cited: dict[str, None] = {}

    def __getitem__(self, key: str) -> Sample:
        sample = super().__getitem__(key)
        return sample * (1 + self.shift[1]) if self.shift and self.shift[0] == key else sample

    def threshold(self, claim: str) -> Sample:
        """The bound of a claim, from thresholds.yaml."""
        key = f"threshold.{claim}"
        self.used[key] = None
        return self[key]

    @property
    def floor(self) -> float:
        """Relative difference that two runs of one configuration show (A/A). Raises Unresolved when it is not known."""
        self.enough_comparisons()
        return max(self["noise.floor"].to("").value, self.derivation.thresholds["least_noise"])

    def enough_comparisons(self) -> None:
        """Raise Unresolved unless the A/A noise rests on enough comparisons."""
        least = self.derivation.thresholds["least_comparisons"]
        if not self.has("noise.floor"):
            raise Unresolved("this campaign compared no configuration with itself, so nothing says how large the noise is")
        if self["noise.comparisons"].value < least:
            raise Unresolved(f"fewer than {least} A/A comparisons: the noise is not known well enough")

    def exact(self, key: str) -> Sample:
        """A fact that no clock error may enter: bookkeeping that holds to rounding or does not."""
        self.used[key] = None
        return super().__getitem__(key)

    def cite(self, *keys: str) -> None:
        """Facts that a sentence about the claim will want beside it; they do not enter the verdict. Missing ones are left out."""
        for key in keys:
            if not self.derivation.result(key).fact.missing:
                self.cited[key] = None

    def unresolved(self, reason: str):
        """Leave the claim open for a reason other than noise."""
        raise Unresolved(reason)


def row_conditions(kind: str, family: str, where: dict, table) -> dict:
    """Column conditions of a selection. `arm` stands for lane and block size, content `all` for every class; failed rows never count."""
    where = dict(where)
    arm = where.pop("arm", None)
    if where.get("content") == "all":
        where["content"] = tuple(table.distinct("content"))
    if arm is not None:
        where |= {"lane": "dspark", "block_size": int(arm[1:])} if arm[0] == "g" else {"lane": arm}
    if kind == "points":
        where = {"status": "ok", "stage": where.pop("stage", family), **where}
    elif kind in ("requests", "steps"):
        where = {"point_status": "ok", "stage": where.pop("stage", family), **where}
        if kind == "requests":
            where["status"] = "ok"
        for length in ("isl", "osl"):
            if length in where:
                where[f"asked_{length}"] = where.pop(length)
    return where


def at_path(manifest: dict | None, path: str):
    """What stands in a manifest under names and places of lists, `search.knobs.0.why`; None when nothing does."""
    value: object = manifest
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def why_empty(table, conditions: dict, text: str) -> str:
    """Reason for a selection without rows: never measured, or measured and failed."""
    states = {name: value for name, value in conditions.items() if name in ("status", "point_status")}
    failed = table.select({name: value for name, value in conditions.items() if name not in states})
    if len(failed) == 0 or table.kind != "points":
        return f"{table.file} has no {'good ' if len(failed) else ''}row with {text}"
    row = failed[0]
    note = table.columns.get("note", ("",) * len(table))[row]
    return f"{table.file} line {table.lines[row]}: status {table.columns['status'][row]}" + (f" ({note})" if note else "")


def status_of(manifest: dict) -> str:
    """Rows of a measuring run are measured; a manifest may say that its rows were transcribed or simulated instead."""
    return manifest.get("status", "measured")


def manifest_name(family: str) -> str:
    return file_name("points", family).removesuffix(".csv") + ".manifest.json"
