"""Which stages of a live campaign were measured with other code than the one in the working tree.

A manifest carries the fingerprint of the modules that measured; the engine writes today's into `workflow/build/engine.json`
(`python -m engine.fingerprint`). The two are compared here as data.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from workflow.derive.measuring import taking_part
from workflow.plan import CAMPAIGNS, Plan, PlanError, Stage


@dataclass(frozen=True)
class Stale:
    """One stage whose published rows were measured with other code."""

    campaign: str
    stage: Stage
    modules: tuple[str, ...]
    """Modules that differ, were added or are gone, sorted."""


def differing(measured: dict[str, str], today: dict[str, str]) -> tuple[str, ...]:
    """Modules whose hashes differ between two fingerprints."""
    return tuple(sorted(name for name in measured.keys() | today.keys() if measured.get(name) != today.get(name)))


def stale_stages(plan: Plan, today: dict[str, str]) -> list[Stale]:
    """Stages of the live campaigns with at least one manifest of other code, in the order of the DAG; unmeasured stages are not stale."""
    found = []
    for name in plan.live:
        backend = plan.definition(name).get("backend", "")
        for stage in plan.stages(name):
            modules: set[str] = set()
            for file in stage.files:
                path = plan.root / CAMPAIGNS / name / file
                if file.endswith(".manifest.json") and path.is_file():
                    modules.update(differing(taking_part(_fingerprint(path), backend), taking_part(today, backend)))
            if modules:
                found.append(Stale(name, stage, tuple(sorted(modules))))
    return found


def fingerprint_now(root: Path) -> dict[str, str]:
    """Today's fingerprint, from the engine as a program: this side of the file boundary does not import it."""
    run = subprocess.run([sys.executable, "-m", "engine.fingerprint"], cwd=root, capture_output=True, text=True)
    if run.returncode:
        raise PlanError(f"python -m engine.fingerprint: {run.stderr.strip().splitlines()[-1] if run.stderr.strip() else 'failed'}")
    return json.loads(run.stdout)


def _fingerprint(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text("utf8"))["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{path}: no fingerprint of the code that measured ({error}); measure the stage again") from None
    return found
