"""Parts of one sweep, measured by several jobs, become the files that one command would have written.

A part is a file of JSON lines: first what the whole command would say in its manifest (code, weights, machine, times), then the records of its
finished blocks. Parts of different code, weights, sizes or, unless the campaign declares `hosts: several`, of different machines are refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engine import csvio
from engine.bench.campaign import Campaign
from engine.bench.cells import Block
from engine.bench.command import Run, rounded
from engine.bench.journal import Journal, Record, digest, whole_lines
from engine.bench.part import Part
from engine.bench.part_check import SAID, check
from engine.bench.progress import Progress
from engine.bench.session import Session
from engine.bench.subject import Subject
from engine.config import ConfigError
from engine.machine import Machine, node

SUFFIX = ".part.jsonl"
SAME = {"stage": "stage", "preset": "preset", "campaign": "settings", "weights": "weights", "code": "code", "threads": "threads", "of": "number of parts"}
"""Key of a part's head that all parts share -> what it is."""


def file_name(stage: str, part: Part) -> str:
    return f"{stage}.{part.name}{SUFFIX}"


def write_part(run: Run, part: Part, out: Path, detectable: dict) -> Path:
    """Publish the finished blocks of a run as one part."""
    session, about = run.session, run.about()
    head = {
        "kind": "part",
        "number": part.number,
        "of": part.of,
        "stage": run.stage,
        "campaign": digest([run.campaign.identity(), run.campaign.as_run(run.stage)]),
        "identity": session.identity,
        "node": node(),
        "epoch": session.journal.epoch,
        **{name: about[name] for name in SAID},
        "seconds": about["cost"]["total_s"],
        "seeds": session.seeds,
        "detectable": detectable,
    }
    assert session.journal.path is not None
    records = [record for record, _ in whole_lines(session.journal.path.read_bytes()) if record["kind"] != "head"]
    path = out / file_name(run.stage, part)
    csvio.publish({path: "".join(json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in (head, *records)).encode("utf8")})
    session.journal.append({"kind": "done"})
    session.journal.close()
    return path


@dataclass(frozen=True)
class Measured:
    """One part that was read back."""

    path: Path
    head: Record
    records: list[Record]

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Raises ConfigError where the file is no whole part."""
        try:
            content = path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{path}: {error.strerror}; expected a part that `engine.sweep --part` wrote") from None
        found = list(whole_lines(content))
        if not found or found[-1][1] != len(content) or found[0][0].get("kind") != "part":
            raise ConfigError(f"{path}: not a whole part of a sweep; measure it again with `engine.sweep --part`")
        (head, _), *records = found
        return cls(path, head, check(path, head, [record for record, _ in records]))

    @property
    def part(self) -> Part:
        return Part(self.head["number"], self.head["of"])


def read_parts(paths: Sequence[Path], campaign: Campaign, stage: str) -> list[Measured]:
    """The parts of one sweep in their order. Raises ConfigError naming the part that is missing, twice there, or of another measurement."""
    parts = sorted((Measured.read(path) for path in paths), key=lambda one: one.head["number"])
    first = parts[0]
    for one in parts[1:]:
        for key, what in SAME.items():
            if one.head[key] != first.head[key]:
                raise ConfigError(f"{one.path}: {what} {short_of(one.head[key])}, but {first.path.name} has {short_of(first.head[key])}; measure the parts alike")
    if (first.head["stage"], first.head["campaign"]) != (stage, digest([campaign.identity(), campaign.as_run(stage)])):
        raise ConfigError(f"{first.path}: measured with other settings than {campaign.path} has for {stage} at preset {campaign.preset}; measure the parts again")
    numbers, of = [one.head["number"] for one in parts], first.head["of"]
    if numbers != list(range(1, of + 1)):
        lacking = sorted(set(range(1, of + 1)) - set(numbers))
        raise ConfigError(f"{first.path.parent}: of {of} parts of {stage} {f'{lacking} are missing' if lacking else 'some are there twice'}: {numbers}")
    if not any(one.records for one in parts):
        raise ConfigError(f"{first.path.parent}: no part of {stage} has a finished block; measure them again")
    hosts = {(one.head["machine"]["host"], one.head["node"]) for one in parts if one.records}
    if len(hosts) > 1 and campaign.hosts == "one":
        places = ", ".join(f"{one.path.name} on {one.head['machine']['host']}/{one.head['node']}" for one in parts)
        raise ConfigError(
            f"{stage}: its parts were measured on {len(hosts)} machines ({places}), whose times may not be compared;"
            f" measure them on one, or declare `hosts: several` under `measure:` in {campaign.path}"
        )
    return parts


def short_of(value: object) -> str:
    text = value if isinstance(value, str | int) else digest(value)
    return str(text)[:24]


def gather(campaign: Campaign, stage: str, blocks: Sequence[Block], parts: Sequence[Measured], argv: Sequence[str], progress: Progress) -> Run:
    """A run whose rows are those of the parts. Raises ConfigError where a block was not finished."""
    campaign = campaign.at(stage)
    first = next(one for one in parts if one.records)
    machine = Machine(**{name: first.head["machine"][name] for name in ("cpu", "cores", "memory_bytes", "os")}, isa=tuple(first.head["machine"]["isa"]))
    subject = Subject.of(campaign)
    session = Session(
        campaign, stage, subject.held_out, progress, first.head["code"], subject.model, machine, None, str, journal=Journal(None)
    )
    epoch = min(one.head["epoch"] for one in parts)
    for one in parts:
        journal = Journal(None)
        journal.earlier = one.records
        session.settle(journal.spent(), journal)
        session.tolerance = one.head["detectable"]["probe_tolerance"]
        for block in one.part.blocks(blocks):
            records = journal.closed(digest([one.head["identity"], campaign.identity(), block]))
            if records is None:
                raise ConfigError(f"{one.path}: block {block.number} of {stage} is not in it; measure this part again")
            session.restore(block, [later(record, one.head["epoch"] - epoch) for record in records])
        session.seeds |= one.head["seeds"]
    return Run.of_parts(campaign, stage, argv, session, subject, first.head["fingerprint"], datetime.fromisoformat(min(one.head["start"] for one in parts)))


def later(record: Record, seconds: float) -> Record:
    """A record whose cell started so much later on the clock that all parts share."""
    point = record.get("point")
    if not point or point.get("started_s") is None:
        return record
    return {**record, "point": {**point, "started_s": point["started_s"] + seconds}}


def about(parts: Sequence[Measured]) -> dict:
    """What the manifest says otherwise than that of one command: the machine at its busiest, the parts with their hosts, the time of all."""
    measured = [one for one in parts if one.records]
    machines = [one.head["machine"] for one in measured]

    def worst(key: str) -> float | None:
        known = [machine[key] for machine in machines if machine[key] is not None]
        return max(known, default=None)

    return {
        "machine": {**machines[0], "pinned_cpu": None, "load_average_end": machines[-1]["load_average_end"], "steal_share": worst("steal_share"), "other_share": worst("other_share")},
        "versions": measured[0].head["versions"],
        "end": max(one.head["end"] for one in measured),
        "seconds": rounded(sum(one.head["seconds"] for one in measured)),
        "parts": [
            {"part": one.part.name, "host": one.head["machine"]["host"], "node": one.head["node"], "start": one.head["start"], "end": one.head["end"],
             "load_average": one.head["machine"]["load_average_start"][0], "command": one.head["command"]}
            for one in measured
        ],
    }  # fmt: skip
