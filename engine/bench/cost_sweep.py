"""The verify-cost sweep: a child process on the pinned processor times its variants on one clock; the rows become a CSV."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from engine.backends.worker_process import environment
from engine.bench.journal import digest
from engine.bench.session import Session
from engine.bench.stages import VerifyCost
from engine.config import ConfigError
from engine.csvio import SCHEMAS, Row

LEAST_TIMEOUT_S = 600.0
CAMPAIGNS = SCHEMAS.parent / "campaigns"


def command(stage: VerifyCost, threads: int, cpu: int | None, campaigns: Path = CAMPAIGNS) -> list[str]:
    """Words after the interpreter; `campaigns` is the folder that holds the one whose acceptance is replayed."""

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
    return ["-m", "engine.bench.verify_cost", *(str(word) for pair in flags.items() for word in pair), "--json"]


def flat(row: dict) -> Row:
    """A measured row as cells: switches in words, timers of operator classes in one text."""
    blocks = row["block_ms"]
    return {
        **row,
        "instrument": "on" if row["instrument"] else "off",
        "block_ms": ";".join(f"{name}={value:.4f}" for name, value in sorted(blocks.items())) if blocks else None,
    }


def check(path: Path, stage: VerifyCost, campaigns: Path = CAMPAIGNS) -> None:
    """Refuse an acceptance that no campaign has; raises `ConfigError` naming file and key."""
    if stage.acceptance and not (campaigns / stage.acceptance / "sweep_window.csv").is_file():
        have = sorted(one.parent.name for one in campaigns.glob("*/sweep_window.csv"))
        raise ConfigError(f"{path}: measure.stages.verify_cost.acceptance: no campaign {stage.acceptance!r} with a sweep_window.csv; there are: {', '.join(have)}")


def estimate_s(stage: VerifyCost) -> float:
    """Rough seconds, for the estimate alone."""
    return sum(_process_s(one) for one in stage.processes())


def _process_s(stage: VerifyCost) -> float:
    slow = 4.0 if set(stage.models) - {"trained", "random-25m"} else 1.0
    forwards = sum(0.004 * batch**0.5 * width**0.3 for batch in stage.batches for width in stage.widths)
    return 10.0 + slow * len(stage.models) * len(stage.modes) * stage.repeats * (forwards * (stage.inner + 1) + 0.4 * len(stage.batches))


def measure(session: Session, stage: VerifyCost) -> list[Row]:
    """Rows of sweep_verify_cost.csv, from the journal where they are already there."""
    key = digest([session.identity, session.campaign.identity(), stage])
    done = session.journal.closed(key)
    if done is not None:
        return done[-1]["rows"]
    session.begin(key)
    begin = time.perf_counter()
    timed = [row for one in stage.processes() for row in _run(session, one)]
    session.cost.cells += 1
    session.cost.cell_s += time.perf_counter() - begin
    constant = {name: session.constant[name] for name in ("campaign", "host", "device", "threads", "code")}
    rows = [{"run_id": f"verify_cost-{number:04d}", **constant, **flat(row)} for number, row in enumerate(timed)]
    session.journal.append({"kind": "closed", **session.open, "rows": rows})
    return rows


def _run(session: Session, stage: VerifyCost) -> list[dict]:
    """The rows that one measuring process printed."""
    threads = session.campaign.threads
    try:
        found = subprocess.run(
            [sys.executable, *command(stage, threads, session.cpu)],
            env=environment(threads),
            check=False,
            capture_output=True,
            text=True,
            timeout=max(LEAST_TIMEOUT_S, 20 * _process_s(stage)),
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"verify_cost: no result within {error.timeout:.0f} s; name fewer widths, batches or models") from None
    if found.returncode != 0:
        said = found.stderr.strip().splitlines()
        raise ConfigError(f"verify_cost: the measuring process ended with code {found.returncode}: {said[-1] if said else 'no message'}")
    return [json.loads(line) for line in found.stdout.splitlines()]
