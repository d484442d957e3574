"""The worker with the stand-in engine, and with a machine that is as steady as the test wants."""

import itertools
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from engine.bench import faults, probe, worker
from tests.measure.fake_engine import FakeEngine

CALLS = itertools.count()


def steady() -> dict[str, float]:
    """Probes that agree; with FAKE_FAULT=moves each one is half as slow again as the one before it."""
    factor = 1.5 ** (next(CALLS) % 2) if os.environ.get("FAKE_FAULT") == "moves" else 1.0
    return {"copy_ms": 2.0 * factor, "compute_ms": 1.0}


def cost(self, order: dict) -> dict:
    """A row of each variant that a verify-cost sweep asks for, without a forward."""
    from engine.bench.verify_cost import CostRow, parser, variants_of

    args = parser().parse_args(order["words"])
    variants = variants_of(args.models.split(","), args.modes.split(","))
    said = ("verify", None, False, 1, 1, args.context, 1, 1.0, 1.0, 1.0, None, None, 1, 1, 1, None, 1.0, 1.0, 1.0, None, 0)
    return {"rows": [asdict(CostRow(variant.model, variant.mode, None, *said, boot=boot)) for boot, variant in enumerate(variants)]}


def noted(what: str, act):
    """`act`, with its begin and end as a line of the file FAKE_DIARY, where there is one."""

    def does(*words):
        begin = time.monotonic()
        try:
            return act(*words)
        finally:
            if diary := os.environ.get("FAKE_DIARY"):
                with Path(diary).open("a") as file:
                    file.write(json.dumps({"what": what, "begin": begin, "end": time.monotonic(), "pid": os.getpid()}) + "\n")

    return does


def imports():
    """Takes FAKE_IMPORT_S."""
    time.sleep(float(os.environ.get("FAKE_IMPORT_S", "0")))
    return FakeEngine


if __name__ == "__main__":
    probe.measure = noted("probe", steady)
    faults.FAULTS["greedy-verify"] = lambda: os.environ.update(FAKE_FAULT="greedy-verify")
    worker.Worker.run = noted("run", worker.Worker.run)
    worker.Worker.verify_cost = noted("verify_cost", cost)
    sys.exit(worker.main(noted("import", imports)))
