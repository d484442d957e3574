"""The verify-cost sweep: a worker process on the pinned processor times its variants on one clock; the rows become a CSV."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from engine.backends.base import EngineFailure
from engine.backends.embedded import PROBE_TIMEOUT_S
from engine.bench.campaign import Campaign
from engine.bench.estimate import minutes
from engine.bench.journal import digest
from engine.bench.rows import probe_columns
from engine.bench.session import Session
from engine.bench.stages import VerifyCost
from engine.bench.verify_cost import Plan
from engine.config import ConfigError
from engine.csvio import SCHEMAS, Row

LEAST_TIMEOUT_S = 600.0
CAMPAIGNS = SCHEMAS.parent / "campaigns"


def command(stage: VerifyCost, threads: int, cpu: int | None, campaigns: Path = CAMPAIGNS) -> list[str]:
    """What the worker is asked, in the words of `engine.bench.verify_cost`; `campaigns` is the folder that holds the one whose acceptance is replayed."""

    def joined(values: Sequence[object]) -> str:
        return ",".join(map(str, values))

    flags = {
        "--models": joined(stage.models),
        "--modes": joined(stage.modes),
        "--widths": joined(stage.widths),
        "--batches": joined(stage.batches),
        "--context": stage.context,
        "--repeats": stage.repeats,
        "--inner": stage.inner,
        "--threads": threads,
        **({"--acceptance": campaigns / stage.acceptance} if stage.acceptance else {}),
        **({} if cpu is None or threads > 1 else {"--cpu": cpu}),
    }
    return [str(word) for pair in flags.items() for word in pair]


def flat(row: dict) -> Row:
    """A measured row as cells: switches in words, timers of operator classes in one text."""
    blocks = row["block_ms"]
    return {
        **{name: value for name, value in row.items() if name != "boot"},
        "instrument": "on" if row["instrument"] else "off",
        "block_ms": ";".join(f"{name}={value:.4f}" for name, value in sorted(blocks.items())) if blocks else None,
    }


def check(path: Path, stage: VerifyCost, campaigns: Path = CAMPAIGNS) -> None:
    """Refuse an acceptance that no campaign has; raises `ConfigError` naming file and key."""
    if stage.acceptance and not (campaigns / stage.acceptance / "sweep_window.csv").is_file():
        have = sorted(one.parent.name for one in campaigns.glob("*/sweep_window.csv"))
        raise ConfigError(f"{path}: measure.stages.verify_cost.acceptance: no campaign {stage.acceptance!r} with a sweep_window.csv; there are: {', '.join(have)}")


FORWARD_MS = {"trained": (8.0, 0.34), "random-25m": (14.0, 0.63), "random-60m": (20.0, 0.86), "random-moe": (17.0, 1.3)}
"""Model -> milliseconds of an eager forward over one position, and of each further one, on one thread of a server processor; for the estimate alone."""
FUSED_SHARE = 0.6
"""A fused forward's part of an eager one's time."""
PREFILL_SHARE = 0.25
"""A position of a prompt takes this part of what one of a window takes."""
START_S = 8.0
"""A measuring process before its first visit: imports, self-tests, and bandwidth."""
LOAD_S = 1.5
"""Two targets and three engines of a variant."""


def estimate_s(stage: VerifyCost) -> float:
    """Rough seconds, for the estimate alone."""
    return sum(_process_s(one) for one in stage.processes())


def _process_s(stage: VerifyCost) -> float:
    """Seconds of one measuring process: every variant is loaded, then visited `repeats` times."""
    visits = sum(_visit_ms(stage, model, mode) for model in stage.models for mode in stage.modes)
    return START_S + LOAD_S * len(stage.models) * len(stage.modes) + stage.repeats * visits / 1e3


def _visit_ms(stage: VerifyCost, model: str, mode: str) -> float:
    """One visit of a variant: its forwards, untimed and clocked ones too, and the steps of its three engines, replayed rounds included."""
    first, further = (value * (FUSED_SHARE if mode.startswith("fused") else 1.0) for value in FORWARD_MS[model])

    def forward(positions: int) -> float:
        return first + further * (positions - 1)

    window = Plan.gamma + 1
    untimed_and_clocked = 3
    spent = sum((stage.inner + untimed_and_clocked) * forward(batch * width) for batch in stage.batches for width in stage.widths)
    for batch in stage.batches:
        plain, drafting = forward(batch), 1.35 * forward(batch * window)
        prefill = PREFILL_SHARE * further * batch * stage.context
        spent += (Plan.steps + 1) * (2 * plain + drafting) + 3 * prefill
        if stage.acceptance and model != "trained":
            spent += (Plan.rounds + 1) * (plain + drafting) + 2 * prefill
    return spent


def dry_run(title: str, campaign: Campaign, stage: VerifyCost, seconds: float, as_json: bool) -> None:
    """Forwards, processes and minutes of a plan; the first boot is the sentinel's."""
    processes = [
        (f"{model} {mode}", [f"{model} {mode} batch {batch} width {width}" for batch in one.batches for width in one.widths], place)
        for place, one in enumerate(stage.processes(), start=1)
        for model in one.models
        for mode in one.modes
    ]
    boots = 1 + len(stage.processes())
    if as_json:
        found = {"command": title, "campaign": campaign.name, "preset": campaign.preset, "cells": stage.cells, "boots": boots}
        print(json.dumps({**found, "estimated_minutes": round(seconds / 60, 2), "plan": [cell for _, cells, _ in processes for cell in cells]}))
        return
    print("boot: sentinel")
    for label, cells, place in processes:
        print(f"measuring process {place}: {label}, visited {stage.repeats} times")
        for cell in cells:
            print(f"  verify_cost: {cell}")
    print(f"{title}, preset {campaign.preset}: {stage.variants} variants, {stage.cells} cells, {boots} boots, about {minutes(seconds)} on one thread")


def measure(session: Session, stage: VerifyCost) -> list[Row]:
    """Rows of sweep_verify_cost.csv; those of a measuring process that has ended are in the journal and are taken from there."""
    rows: list[Row] = []
    for one in stage.processes():
        key = digest([session.identity, session.campaign.identity(), one])
        done = session.journal.closed(key)
        if done is None:
            record = _timed(session, one, key, len(rows))
        else:
            record = done[-1]
            # none of its time is that of a boot or a cell, which are booked for every earlier process of the command
            session.before_s += record["seconds"]
        session.boots = record["boots"]
        session.cost.cells += 1
        session.cost.cell_s += record["seconds"]
        rows += record["rows"]
    return rows


def _timed(session: Session, stage: VerifyCost, key: str, first: int) -> dict:
    """The journal's record of one measuring process, written: its rows, the `first` of them numbered so, and the number of the next boot."""
    session.begin(key)
    begin = time.perf_counter()
    timed = _run(session, stage)
    constant = {name: session.constant[name] for name in ("campaign", "host", "device", "threads", "code")}
    rows = [
        # boots of a process are counted from zero, those of a command go on after the sentinel's
        {"run_id": f"verify_cost-{number:04d}", **constant, "boot_id": f"verify_cost-b{session.boots + row['boot']:03d}", **flat(row)}
        for number, row in enumerate(timed, start=first)
    ]
    boots = session.boots + 1 + max(row["boot"] for row in timed)
    record = {"kind": "closed", **session.open, "rows": rows, "boots": boots, "seconds": time.perf_counter() - begin}
    session.journal.append(record)
    return record


def _run(session: Session, stage: VerifyCost) -> list[dict]:
    """The rows of one worker process, each with what a fixed piece of work took in that process before and after."""
    process = session.pool.take()
    try:
        words = command(stage, session.campaign.threads, session.cpu)
        probing = {"order": "probe", "cpu": session.cpu}
        before = process.ask(probing, PROBE_TIMEOUT_S)
        rows = process.ask({"order": "verify_cost", "words": words}, max(LEAST_TIMEOUT_S, 20 * _process_s(stage)))["rows"]
        probes = probe_columns(before, process.ask(probing, PROBE_TIMEOUT_S))
        return [{**row, **probes} for row in rows]
    except EngineFailure as failure:
        more = "; name fewer widths, batches or models" if failure.status == "timeout" else ""
        raise ConfigError(f"verify_cost: {failure.note}{more}") from None
    finally:
        process.stop()
