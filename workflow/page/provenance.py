"""Where a number comes from: what the cards, the index of numbers and the footers show; read from facts and manifests, never typed."""

from __future__ import annotations

from dataclasses import dataclass

from workflow.derive.fact import Cell, Fact
from workflow.derive.values import Values
from workflow.page.format import Formatter, exact
from workflow.page.lookup import Lookup


def raw(fact: Fact) -> str:
    """The unrounded value."""
    if fact.value is None:
        return ""
    return fact.value if isinstance(fact.value, str) else f"{exact(fact.value).normalize():f}"


@dataclass(frozen=True)
class Run:
    """What a manifest says about the run behind one CSV."""

    file: str
    sha256: str
    command: str
    commit: str
    dirty: bool
    machine: str
    versions: str
    threads: str
    start: str
    end: str
    rows: int

    @classmethod
    def of(cls, file: str, manifest: dict) -> Run:
        if origin := manifest.get("origin"):
            return cls.elsewhere(file, manifest, origin)
        machine, versions = manifest.get("machine") or {}, manifest.get("versions") or {}
        return cls(
            file,
            str(manifest.get("sha256", "")),
            str(manifest.get("command", "")),
            str(manifest.get("commit") or ""),  # null outside a repository
            bool(manifest.get("dirty")),
            " · ".join([*(str(machine[name]) for name in ("cpu", "os") if machine.get(name)), *([f"{machine['clock_mhz']:.0f} MHz"] if machine.get("clock_mhz") else [])]),
            " · ".join(f"{name} {version}" for name, version in sorted(versions.items())),
            str(manifest.get("threads", "")),
            str(manifest.get("start", "")),
            str(manifest.get("end", "")),
            int(manifest.get("rows") or 0),
        )

    @classmethod
    def elsewhere(cls, file: str, manifest: dict, origin: dict) -> Run:
        """Of rows that were measured elsewhere: publication or tool in place of the command, the hardware there in place of the machine."""
        source = f"{manifest.get('status', 'transcribed')} from {origin['publisher']}: {', '.join(origin['files'])}"
        measured = str(origin.get("measured") or "")
        return cls(
            file,
            str(manifest["sha256"]),
            source,
            "",
            False,
            origin["hardware"],
            origin["software"],
            "",
            "",
            measured,
            int(manifest["rows"]),
        )


def runs(values: Values) -> dict[str, Run]:
    """CSV name -> run, in the order of the names."""
    return {file: Run.of(file, manifest) for file, manifest in sorted(values.runs.items())}


SHOWN = 4
"""Inputs and cells on a card; the index of numbers has them all."""


def read_from(fact: Fact, lookup: Lookup) -> list[Cell]:
    """Cells that a number was read from; of one that was computed from others, a cell of each file that those were read from, the nearest inputs first."""
    if fact.source:
        return list(fact.source)
    found: dict[str, Cell] = {}
    near = [key for key in fact.parents if lookup.known(key)]
    seen = set(near)
    for key in near:
        parent = lookup.fact(key)
        for cell in parent.source:
            found.setdefault(cell.file, cell)
        more = [name for name in parent.parents if name not in seen and lookup.known(name)]
        near += more
        seen.update(more)
    return list(found.values())


def card(fact: Fact, formatter: Formatter, language: str, lookup: Lookup) -> dict:
    """One record of the data that the cards are built from; empty fields are left out."""
    record = {
        "t": formatter(fact, language) if not fact.missing else "",
        "v": raw(fact),
        "u": fact.unit,
        "s": fact.status,
        "n": fact.n or None,
        "i": [f"{fact.lo:.6g}", f"{fact.hi:.6g}"] if fact.lo is not None and fact.hi is not None else None,
        "r": fact.resampled,
        "f": fact.formula,
        "p": [*fact.parents[:SHOWN], *("…" for _ in fact.parents[SHOWN : SHOWN + 1])],
        "c": [[cell.file, cell.row, cell.column, cell.where] for cell in read_from(fact, lookup)[:SHOWN]],
        "x": fact.reason,
    }
    return {name: value for name, value in record.items() if value not in ("", None, [], 0)}


def run_card(run: Run) -> dict:
    """Short keys, one record a CSV that the page's numbers rest on."""
    return {
        "h": run.sha256,
        "q": run.command,
        "g": run.commit[:12] + ("+" if run.dirty else ""),
        "m": run.machine,
        "w": run.versions,
        "d": run.end,
    }
