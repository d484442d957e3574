"""Files of a stage that boots nothing: one that a server cannot do, and one that only compiles.

What was not done is one row of status `skipped` in each of the stage's files, its reason in `note`; the page reads the reason there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from engine import csvio, manifest
from engine.bench.campaign import Campaign
from engine.bench.command import said, writable
from engine.bench.progress import Progress
from engine.csvio import Row
from engine.fingerprint import fingerprint
from engine.machine import Machine, load_average

INSIDE = {
    "verify_cost": "it times forwards inside the embedded engine, and a server hands out none",
    "kernels": "it compiles the kernels of the embedded engine, and a server brings its own",
}
"""Stage that looks inside the embedded engine -> why a server cannot do it."""
FILES = {
    "verify_cost": {"sweep_verify_cost.csv": "verify_cost"},
    "kernels": {"kernels.csv": "kernels", "predicates.csv": "predicates"},
}
"""Stage -> its files and the kind of each."""


def cannot(campaign: Campaign, stage: str) -> str | None:
    """Why a campaign's backend cannot do a stage; None where it can."""
    return None if campaign.server is None else f"skipped: backend {campaign.backend} cannot do {stage}: {INSIDE[stage]}"


@dataclass(frozen=True)
class Begun:
    """When a command began, and how busy its machine was."""

    at: datetime
    load_start: list[float]

    @classmethod
    def now(cls) -> Begun:
        return cls(datetime.now().astimezone(), load_average())


def publish(campaign: Campaign, stage: str, argv: Sequence[str], out: Path, rows: Mapping[str, Sequence[Row]], threads: int, begun: Begun) -> list[Path]:
    """Check and write the stage's files, each with its manifest. `rows`: kind -> its rows."""
    machine = manifest.machine_section(Machine.read(), None, begun.load_start, load_average(), None, None)
    common = {**said(campaign, stage, argv, fingerprint(), machine, begun.at), "threads": threads}
    files: dict[Path, bytes] = {}
    for name, kind in FILES[stage].items():
        content = csvio.render(kind, rows[kind], name)
        files[out / name] = content
        about = {**common, "file": name, "kind": kind, "rows": len(rows[kind]), "sha256": manifest.sha256(content)}
        files[out / f"{name.removesuffix('.csv')}.manifest.json"] = manifest.render(about)
    csvio.publish(files)
    return list(files)


def skip(campaign: Campaign, stage: str, args: argparse.Namespace, argv: Sequence[str], program: str, why: str) -> None:
    """The files of a stage that is not done, each with the reason in its row; a dry run says the reason and writes nothing."""
    if args.dry_run:
        print(f"{program}: {why}")
        return
    writable(args.out)
    begun = Begun.now()
    with Progress(f"{stage} of campaign {campaign.name}", 0.0, args.log, args.quiet or args.json) as progress:
        progress.say(f"{stage}: {why}")
    rows = {kind: [csvio.skipped(kind, why, campaign=campaign.name)] for kind in FILES[stage].values()}
    files = publish(campaign, stage, argv, args.out, rows, campaign.threads, begun)
    if args.json:
        print(json.dumps({"files": [str(path) for path in files], "skipped": why}, ensure_ascii=False))
