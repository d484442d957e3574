"""Which code a measurement depends on: drivers of other servers are no part of one that the embedded engine ran."""

from __future__ import annotations

from tests.workflow.loaded import reached
from workflow.derive.measuring import DRIVERS, taking_part
from workflow.plan import ROOT, STAGES

PROGRAMS = {stage.command.split()[0] for stage in STAGES} | {"engine.bench.worker", "engine.bench.verify_cost"}
"""What the rules run, and the processes that those start."""
MEASURING = {"engine", "kernels"}


def test_no_program_that_measures_the_embedded_engine_loads_a_driver() -> None:
    loaded = reached(PROGRAMS, MEASURING, ROOT)
    assert {"engine/engine.py", "engine/bench/session.py", "engine/backends/embedded.py", "engine/bench/served.py"} <= loaded
    assert not loaded & DRIVERS
    assert all((ROOT / name).is_file() for name in DRIVERS), "a module that was renamed would be forgotten here"
    # the drivers are found where they are asked for, so an empty answer above means something
    assert "engine/bench/http_client.py" in reached({"engine.backends.vllm"}, MEASURING, ROOT)


def test_a_driver_counts_for_its_server_alone() -> None:
    code = {"engine/engine.py": "1", "engine/backends/vllm.py": "2"}
    assert taking_part(code, "embedded") == {"engine/engine.py": "1"}
    assert taking_part(code, "vllm") == code
