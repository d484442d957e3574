"""What `engine.sweep` and `engine.search` share: flags, preparation, the dry run, and publishing the files."""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from engine import csvio, manifest
from engine.arguments import Defaults, Parser, file_path
from engine.bench import campaign as campaigns
from engine.bench import plans
from engine.bench.campaign import PRESETS, Campaign
from engine.bench.cells import Block
from engine.bench.describe import describe
from engine.bench.estimate import CostModel, command_s, minutes
from engine.bench.journal import Journal, digest
from engine.bench.lock import hold_machine
from engine.bench.lossless import lossless
from engine.bench.plan_check import check_prompts
from engine.bench.progress import Progress
from engine.bench.session import Session
from engine.bench.subject import Subject
from engine.bench.verdicts import TIME, measured
from engine.config import ConfigError
from engine.fingerprint import fingerprint, short
from engine.machine import Machine, Ticks, children_cpu_s, leave_cpu, load_average, quietest_cpu

if TYPE_CHECKING:
    from engine.model.tokenizer import Tokenizer

BAD_INPUT = 2


def flags(program: str, description: str) -> argparse.ArgumentParser:
    parser = Parser(prog=program, description=description, formatter_class=Defaults)
    parser.add_argument("--campaign", required=True, type=file_path, metavar="FILE", help="campaign.yaml with a `measure:` section; required")
    parser.add_argument("--out", type=file_path, metavar="DIR", help="folder for the CSVs and manifests; required unless --dry-run")
    parser.add_argument(
        "--preset", choices=PRESETS, help="sizes of the stages; smoke: seconds a stage, same code (default: the campaign's)"
    )
    parser.add_argument("--weights", type=file_path, metavar="DIR", help="weights folder (default: the campaign's)")
    parser.add_argument("--cpu", type=int, metavar="N", help="processor to pin the engine to (default: the campaign's, else the least busy one)")
    parser.add_argument("--dry-run", action="store_true", help="print cells, boots and estimated minutes, measure nothing")
    parser.add_argument("--json", action="store_true", help="print the result (or the dry run) as one JSON object")
    parser.add_argument("--log", type=file_path, metavar="FILE", help="also write the progress lines here (default: nowhere)")
    parser.add_argument(
        "--resume",
        nargs="?",
        const="all",
        default="no",
        choices=("no", "interrupted", "all"),
        help="go on with the journal of an earlier run of the same command: finished blocks are taken from it. interrupted: only where that run"
        " did not finish; alone: also a finished one, whose files are written again without measuring",
    )
    parser.add_argument("--journal", type=file_path, metavar="DIR", help="folder of the journal (default: OUT.journal)")
    parser.add_argument("--quiet", action="store_true", help="no progress on the terminal")
    return parser


def guarded(main: Callable[[argparse.Namespace], int], args: argparse.Namespace, program: str) -> int:
    """Bad input, a full disk and an unwritable folder: one line and exit code 2."""
    try:
        return main(args)
    except (ConfigError, csvio.TableError) as error:
        print(f"{program}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"{program}: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
    except KeyboardInterrupt:
        print(f"{program}: interrupted; nothing was written", file=sys.stderr)
        return 130
    return BAD_INPUT


def load(args: argparse.Namespace) -> Campaign:
    campaign = campaigns.load(args.campaign, args.preset, args.weights)
    if not args.dry_run and args.out is None:
        raise ConfigError("--out: a folder for the measured files is needed (or --dry-run)")
    return campaign


def dry_run(title: str, campaign: Campaign, blocks: Sequence[Block], as_json: bool) -> None:
    """Cells, boots and minutes of a plan."""
    costs = CostModel()
    cells = [cell for block in blocks for cell in block.cells]
    boots = sum(len(block.arms) for block in blocks)
    seconds = command_s(blocks, costs)
    if as_json:
        print(
            json.dumps(
                {
                    "command": title,
                    "campaign": campaign.name,
                    "preset": campaign.preset,
                    "cells": len(cells),
                    "boots": boots,
                    "estimated_minutes": round(seconds / 60, 2),
                    "plan": [describe(cell) for cell in cells],
                },
                ensure_ascii=False,
            )
        )
        return
    for block in blocks:
        print(f"block {block.number}: boots {', '.join(arm.label for arm in block.arms)} ({minutes(costs.block_s(block))})")
        for cell in block.cells:
            print(f"  {cell.stage}: {describe(cell)}")
    stages = ", ".join(f"{name} {count}" for name, count in Counter(cell.stage for cell in cells).items())
    print(f"{title}, preset {campaign.preset}: {len(cells)} cells ({stages}), {boots} boots, about {minutes(seconds)} on one thread")


@contextmanager
def unless_refused(*folders: Path) -> Iterator[None]:
    """Folders that were made inside and hold nothing are gone again when what is inside is refused."""
    missing = [one for folder in folders for one in (folder, *folder.parents) if not one.exists()]
    try:
        yield
    except (ConfigError, OSError):
        for folder in sorted(missing, key=lambda one: -len(one.parts)):
            with suppress(OSError):
                folder.rmdir()
        raise


def writable(out: Path) -> None:
    """Fail now rather than after the measurement."""
    out.mkdir(parents=True, exist_ok=True)
    probe = out / ".soundings.part"
    probe.touch()
    probe.unlink()


def pinned_cpu(asked: int | None) -> int | None:
    if asked is None:
        return quietest_cpu()
    allowed = os.sched_getaffinity(0)
    if asked not in allowed:
        raise ConfigError(f"--cpu: {asked} is not among the processors this process may use: {', '.join(map(str, sorted(allowed)))}")
    return asked


def command_line(argv: Sequence[str]) -> str:
    """The command as one would type it in the repository root."""
    root = f"{csvio.SCHEMAS.parent.parent}/"
    return shlex.join(["python", "-m", *(word.removeprefix(root) for word in argv)])


@dataclass
class Run:
    """One measuring command from its start to its files."""

    campaign: Campaign
    stage: str
    """Key under measure.stages."""
    argv: Sequence[str]
    session: Session
    hashes: dict[str, str]
    cpu: int | None
    subject: Subject
    begun: datetime
    load_start: list[float]
    ticks: Ticks | None
    children_s: float
    machine_lock: IO[str] | None
    """Held as long as this run lives; None where nothing is measured."""

    @classmethod
    def start(
        cls, campaign: Campaign, stage: str, argv: Sequence[str], args: argparse.Namespace, progress: Progress, part: tuple[str, int] = ("", 0)
    ) -> Run:
        """Everything that can be wrong with the input is found here, before the first boot. `part`: its name and the number of its first cell."""
        part_name, first = part
        campaign = campaign.at(stage)
        subject = Subject.of(campaign)
        tokenizer = subject.tokenizer
        # one thread has one processor; several have all that there are, and so has a server
        pinned = campaign.threads == 1 and campaign.server is None
        asked = args.cpu if args.cpu is not None else campaign.cpu
        if pinned and asked is not None:
            pinned_cpu(asked)
        check_prompts(campaign.path, stage, campaign.stage(stage), subject.held_out, campaign.name, campaign.seed)
        beside = args.out.resolve()
        journals = (args.journal or beside.with_name(f"{beside.name}.journal")).resolve()
        with unless_refused(beside, journals):
            writable(args.out)
            hashes = fingerprint()
            machine_lock = hold_machine(progress.say)
            load_start = load_average()
            # the least busy one is chosen once nobody else measures
            cpu = pinned_cpu(asked) if pinned else None
            leave_cpu(cpu)
            machine = Machine.read()
            journal = Journal(journals / f"{stage}{part_name and '.'}{part_name}.jsonl", args.resume)
        session = Session(
            campaign,
            stage,
            subject.held_out,
            progress,
            short(hashes),
            subject.model,
            machine,
            cpu,
            lambda token: tokenizer.decode([token]),
            journal=journal,
            identity=digest([short(hashes), subject.weights, machine.host]),
            logs=args.out / "logs" / stage,
            first=first,
        )
        progress.begin()
        if journal.resumed:
            progress.say(f"{stage}: going on with {journal.path.name}, {len(journal.spent())} boots and cells in it")
        ticks, children_s = Ticks.read(cpu) if cpu is not None else None, children_cpu_s()
        if journal.interrupted:
            resumed(session)
        return cls(
            campaign,
            stage,
            argv,
            session,
            hashes,
            cpu,
            subject,
            datetime.now().astimezone(),
            load_start,
            ticks,
            children_s,
            machine_lock,
        )

    @classmethod
    def of_parts(
        cls, campaign: Campaign, stage: str, argv: Sequence[str], session: Session, subject: Subject, hashes: dict[str, str], begun: datetime
    ) -> Run:
        """A run that measures nothing: its session has the rows that other jobs measured."""
        return cls(campaign, stage, argv, session, hashes, None, subject, begun, load_average(), None, children_cpu_s(), None)

    def shares(self) -> tuple[float | None, float | None]:
        """(stolen by the hypervisor, used by other processes) of the pinned CPU's time so far. Every process of this command has ended."""
        now = Ticks.read(self.cpu) if self.cpu is not None else None
        if self.ticks is None or now is None or now.total_s <= self.ticks.total_s:
            return None, None
        total = now.total_s - self.ticks.total_s
        own = children_cpu_s() - self.children_s - (self.session.pool.elsewhere_s if self.session.pool else 0.0)
        other = now.busy_s - self.ticks.busy_s - own
        return share((now.steal_s - self.ticks.steal_s) / total), share(other / total)

    def measured_on(self) -> dict[str, dict]:
        """The manifest's keys on model and numerics; of a server these are its own business."""
        session = self.session
        if self.campaign.server is not None:
            return {}
        return {
            "model": manifest.model_section(self.campaign.engine.weights, session.info),
            "numerics": {lane: info.get("row_invariance") for lane, info in session.info.items()},
        }

    @property
    def tokenizer(self) -> Tokenizer:
        return self.subject.tokenizer

    def publish(
        self,
        out: Path,
        tables: dict[str, tuple[str, list[csvio.Row]]],
        extra: dict[str, dict],
        instead: dict | None = None,
        finished: bool = True,
    ) -> list[Path]:
        """Check, write and rename every CSV with its manifest. `tables`: file name -> (kind, rows); `extra`: file name -> manifest keys.

        `instead`: what every manifest says otherwise than this process knows. `finished`: False where somebody stopped it, so that an
        interrupted journal is gone on with.
        """
        session = self.session
        if not any(rows for _, rows in tables.values()):
            raise ConfigError(f"no configuration of {self.stage} could be run, so nothing was written; the log says why")
        if session.rows.points and not any(point["status"] == "ok" for point in session.rows.points):
            reasons = Counter(f"{point['status']}: {point['note']}" for point in session.rows.points)
            raise ConfigError(f"no cell of {self.stage} finished, so nothing was written; {reasons.most_common(1)[0][0]}")
        common = self.about() | (instead or {})
        if instead:
            common["cost"]["total_s"] = instead["seconds"]
        if self.campaign.temperature == 0 and session.rows.points:
            common["lossless"] = lossless(session.rows.points, session.rows.requests)
        files: dict[Path, bytes] = {}
        for name, (kind, rows) in tables.items():
            content = csvio.render(kind, rows, name)
            csvio.parse(kind, content, name)
            files[out / name] = content
            about = {**common, "file": name, "kind": kind, "rows": len(rows), "sha256": manifest.sha256(content), **extra.get(name, {})}
            files[out / f"{name.removesuffix('.csv')}.manifest.json"] = manifest.render(about)
        csvio.publish(files)
        if finished:
            session.journal.append({"kind": "done"})
        session.journal.close()
        return list(files)

    def about(self) -> dict:
        """What every manifest of this run says. Measuring is over: processes that still wait for a boot are ended."""
        session = self.session
        session.close()
        machine = manifest.machine_section(session.machine, self.cpu, self.load_start, load_average(), *self.shares())
        found = said(self.campaign, self.stage, self.argv, self.hashes, machine, self.begun)
        return {
            **found,
            "weights": self.subject.weights,
            "seeds": {"campaign": self.campaign.seed, **session.seeds},
            **self.measured_on(),
            "cost": {**rounded(asdict(session.cost)), "total_s": round(found["seconds"] + session.before_s, 3)},
        }


def resumed(session: Session) -> None:
    """Measure the sentinel again, and say how far it is from the first one: is it still the machine that measured the first part?"""
    records = [one["point"] for one in session.journal.earlier if one["kind"] == "cell" and one["stage"] == "sentinel"]
    session.run([plans.sentinel(f"resume-{session.attempt}", session.attempt)])
    first, now = (measured(points, "sentinel", TIME) for points in (records, session.rows.points))
    if not first or not now:
        session.progress.say("sentinel: nothing to compare it with, so whether the machine is as fast as before is not known")
        return
    moved = math.log(now[-1][TIME] / first[0][TIME])
    words = f"a token takes {math.exp(moved):.2f} of the time that it took when this measurement began"
    over = abs(math.expm1(abs(moved))) > session.tolerance
    session.progress.say(f"WARNING: {words}; what is measured now beside it is another machine's" if over else f"sentinel: {words}")


def said(campaign: Campaign, stage: str, argv: Sequence[str], hashes: dict[str, str], machine: dict, begun: datetime) -> dict:
    """What the manifest of any command says that measured for a campaign: what it was, with which code, where and when."""
    commit, dirty = manifest.git_state()
    ended = datetime.now().astimezone()
    return {
        "schema": 1,
        "campaign": campaign.name,
        "command": command_line(argv),
        "config": campaign.as_run(stage),
        "preset": campaign.preset,
        "commit": commit,
        "dirty": dirty,
        "code": short(hashes),
        "fingerprint": hashes,
        "versions": manifest.versions(),
        "machine": machine,
        "threads": campaign.threads,
        "seeds": {},
        "start": manifest.stamp(begun),
        "end": manifest.stamp(ended),
        "seconds": round((ended - begun).total_seconds(), 3),
        "thresholds_sha256": manifest.thresholds_sha256(),
    }


def rounded(value):
    """A nest of mappings with its numbers to the millisecond."""
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def share(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 4)


def tables_of(session: Session, points: str, suffix: str) -> dict[str, tuple[str, list[csvio.Row]]]:
    return {
        f"{points}.csv": ("points", session.rows.points),
        f"requests_{suffix}.csv": ("requests", session.rows.requests),
        f"steps_{suffix}.csv": ("steps", session.rows.steps),
    }


def closing(run: Run, files: Sequence[Path], as_json: bool, more: dict | None = None) -> None:
    """The last lines of a run."""
    cost = run.session.cost
    thrown = [point for point in run.session.rows.points if (point.get("note") or "").startswith("a probe moved")]
    failed = [point for point in run.session.rows.points if point["status"] != "ok" and point not in thrown]
    if as_json:
        print(
            json.dumps(
                {"files": [str(path) for path in files], "cost": asdict(cost), "cells_failed": len(failed), **(more or {})},
                ensure_ascii=False,
            )
        )
        return
    say = run.session.progress.say
    say(
        f"{run.stage}: {cost.cells} cells, {cost.boots} boots, {cost.requests} requests ({cost.failed} failed)"
        f" in {minutes(run.session.progress.elapsed_s)}: "
        f"{minutes(cost.boot_s)} booting, {minutes(cost.cell_s)} measuring"
    )
    if thrown:
        say(f"{len(thrown)} attempts were thrown away because the machine moved under them, and measured again")
    if failed:
        say(f"{len(failed)} cells did not finish and are kept as rows: {dict(Counter(point['status'] for point in failed))}")
