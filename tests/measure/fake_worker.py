"""The worker with the stand-in engine, and with a machine that is as steady as the test wants."""

import itertools
import os
import sys

from engine.bench import faults, probe
from engine.bench.worker import main
from tests.measure.fake_engine import FakeEngine

CALLS = itertools.count()


def steady() -> dict[str, float]:
    """Probes that agree; with FAKE_FAULT=moves each one is half as slow again as the one before it."""
    factor = 1.5 ** (next(CALLS) % 2) if os.environ.get("FAKE_FAULT") == "moves" else 1.0
    return {"copy_ms": 2.0 * factor, "compute_ms": 1.0}


if __name__ == "__main__":
    probe.measure = steady
    faults.FAULTS["greedy-verify"] = lambda: os.environ.update(FAKE_FAULT="greedy-verify")
    sys.exit(main(FakeEngine))
