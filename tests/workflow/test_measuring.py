"""Which code a measurement depends on: drivers of other servers are no part of one that the embedded engine ran."""

from __future__ import annotations

import ast
from pathlib import Path

from workflow.derive.measuring import DRIVERS, taking_part
from workflow.plan import ROOT, STAGES

PROGRAMS = {stage.command.split()[0] for stage in STAGES} | {"engine.bench.worker", "engine.bench.verify_cost"}
"""What the rules run, and the processes that those start."""


def path_of(module: str) -> Path | None:
    """File of a module of ours."""
    place = ROOT.joinpath(*module.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def imported(path: Path) -> set[str]:
    """Every module that a file may import, inside functions as well."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def reached(programs: set[str]) -> set[str]:
    """Files that these programs may load, relative to the root."""
    left, seen = list(programs), set()
    while left:
        module = left.pop()
        path = path_of(module) if module.split(".")[0] in ("engine", "kernels") else None
        if path is None or path in seen:
            continue
        seen.add(path)
        left += [*imported(path), module.rpartition(".")[0]]
    return {path.relative_to(ROOT).as_posix() for path in seen}


def test_no_program_that_measures_the_embedded_engine_loads_a_driver() -> None:
    loaded = reached(PROGRAMS)
    assert {"engine/engine.py", "engine/bench/session.py", "engine/backends/embedded.py", "engine/bench/served.py"} <= loaded
    assert not loaded & DRIVERS
    assert all((ROOT / name).is_file() for name in DRIVERS), "a module that was renamed would be forgotten here"
    # the drivers are found where they are asked for, so an empty answer above means something
    assert "engine/bench/http_client.py" in reached({"engine.backends.vllm"})


def test_a_driver_counts_for_its_server_alone() -> None:
    code = {"engine/engine.py": "1", "engine/backends/vllm.py": "2"}
    assert taking_part(code, "embedded") == {"engine/engine.py": "1"}
    assert taking_part(code, "vllm") == code
