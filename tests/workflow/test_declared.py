"""Cheap rules declare as their inputs what their programs load and read: all of it, or an edit would leave a stale page, and of the code no more."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflow.conftest import Copy
from tests.workflow.loaded import reached
from workflow import imports
from workflow.imports import code_of
from workflow.plan import ROOT

PROGRAMS = {
    "derive": ("workflow.derive", "--campaign", "workflow/campaigns/local", "--code=workflow/build/code.json", "--out", "workflow/build/local"),
    "figures": ("workflow.figures", "--values", "workflow/build/local/values.json", "--out", "workflow/build/local/figures"),
    "site": ("workflow.page", "--build", "workflow/build", "--site", "site", "--prune", "--campaign=local", "--lead=local", "--preset=quick"),
}
CODE = {
    "derive": ("workflow.derive", "workflow.derive.facts.*", "workflow.derive.claims.*"),
    "figures": ("workflow.figures", "workflow.figures.plates.*"),
    "site": ("workflow.page",),
}
WATCH = """
import atexit, json, re, runpy, sys
from pathlib import Path
opened = set()
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and not (isinstance(arguments[1], str) and set("wax+") & set(arguments[1])):
        opened.add(arguments[0])
sys.addaudithook(hook)
root, out, *sys.argv = sys.argv[1:]
atexit.register(lambda: open(out, "w").write(json.dumps(sorted(opened))))
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
OWN = re.compile(r"site/|workflow/build/(site\.json|previous/|logs/|\w+/figures/([\w.-]+\.(svg|png)|drawn\.json)$)")
"""What a program wrote itself the last time: the page; the drawings, which are written together with their index, and what was asked for them."""


def read_by(copy: Copy, command: tuple[str, ...], out: Path) -> set[str]:
    """Files of the copy that a program opened to read, a module that was loaded from its cache by its source."""
    environment = {**os.environ, "PYTHONPATH": str(copy.root)}
    done = subprocess.run([sys.executable, "-c", WATCH, str(copy.root), str(out), *command], check=False, cwd=copy.root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    paths = {(copy.root / re.sub(r"__pycache__/(\w+)\.[\w.-]+$", r"\1.py", name)).resolve() for name in json.loads(out.read_text("utf8"))}
    root = copy.root.resolve()
    return {path.relative_to(root).as_posix() for path in paths if path.is_relative_to(root) and path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("rule", PROGRAMS)
def test_a_program_reads_nothing_that_its_rule_does_not_declare(built: Copy, tmp_path: Path, rule: str):
    read = read_by(built, ("workflow.at", "workflow/build/logs/local/x.log", *PROGRAMS[rule]), tmp_path / "opened.json")
    declared = {name for file in built.inputs()[rule] for name in (file, *stands_for(built.root / file))}
    assert {"workflow/at.py", f"workflow/{PROGRAMS[rule][0].removeprefix('workflow.')}/__main__.py"} <= read, "the hook saw the program"
    assert sorted(name for name in read - declared if not OWN.match(name)) == []


def stands_for(file: Path) -> list[str]:
    """Files whose checksums a file of checksums holds, so that it changes when they do."""
    return [line.split("  ", 1)[1] for line in file.read_text("utf8").splitlines()] if file.suffix == ".sha256" else []


def walked(programs: tuple[str, ...], root: Path) -> set[str]:
    """Files that programs reach through imports."""
    left = []
    for program in programs:
        name = program.removesuffix(".*")
        left += [name, f"{name}.__main__"]
        left += [f"{name}.{path.stem}" for path in root.joinpath(*name.split(".")).glob("*.py") if program.endswith(".*")]
    return reached(left, {"workflow"}, root)


@pytest.mark.parametrize("rule", CODE)
def test_the_code_of_a_program_is_what_its_imports_reach(rule: str):
    assert set(code_of(*CODE[rule])) == walked(CODE[rule], ROOT)


def test_the_page_and_the_plates_load_no_derivation():
    """Else an edit of one fact's code would draw and render again what the facts leave as it was, and each start would pay for the imports."""
    for rule in ("figures", "site"):
        assert not [file for file in code_of(*CODE[rule]) if file.startswith(("workflow/derive/facts", "workflow/derive/claims", "workflow/derive/units"))]


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("from workflow.derive import a, b as c\n", {"workflow.derive", "workflow.derive.a", "workflow.derive.b"}),
        ("from workflow.derive import (\n    a,  # why\n    b,\n)\n", {"workflow.derive", "workflow.derive.a", "workflow.derive.b"}),
        ("import os, workflow.derive.a as x\n", {"workflow.derive.a"}),
        ("def f():\n    import workflow.page\n    from workflow.plan import ROOT\n", {"workflow.page", "workflow.plan", "workflow.plan.ROOT"}),
        ("from workflowed import x\nimport json\n# from workflow.page import site\n", set()),
    ],
)
def test_imports_are_told_from_the_text(tmp_path: Path, text: str, modules: set[str]):
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/one.py").write_text(text, "utf8")
    assert set(imports.imported(tmp_path / "workflow/one.py")) == modules


def test_a_program_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="workflow.no_such"):
        code_of("workflow.no_such")
