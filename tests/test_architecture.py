"""The house: arrows between the packages, and the top level as it is given."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("engine", "kernels", "workflow")
# What a room may never import. The right half reads files only; kernels know tensors only.
FORBIDDEN = {
    "kernels": {"engine", "workflow"},
    "engine": {"workflow"},
    "workflow": {"engine", "kernels", "torch", "triton", "safetensors", "tokenizers"},
}
TOP_LEVEL = {"Snakefile", "pyproject.toml", "README.md", "LICENSE", "requirements.lock", "workflow", "engine", "kernels", "templates", "tests"}


def imports(source: str) -> set[str]:
    """Top-level names of every import in a module, nested ones included."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("import_module", "__import__"):
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                found.add(node.args[0].value.split(".")[0])
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_arrows_point_one_way(room):
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / room).rglob("*.py"))
        for name in sorted(imports(path.read_text("utf8")) & FORBIDDEN[room])
    ]
    assert not wrong, "\n".join(wrong)


# Inside the report side: derive <- figures <- page, and what packs, checks or is typed stands after all of them.
LATER = {
    "derive": {"figures", "page", "publish", "cli", "check", "importers"},
    "figures": {"page", "publish", "cli", "check", "importers"},
    "page": {"publish", "cli", "check", "importers"},
    "importers": {"figures", "page", "publish", "cli", "check"},
}


def parts(source: str) -> set[str]:
    """Parts of the package `workflow` that a module imports, nested imports included."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("workflow.")}
        elif isinstance(node, ast.ImportFrom) and node.module == "workflow":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("workflow."):
            found.add(node.module.split(".")[1])
    return found


@pytest.mark.parametrize("part", LATER)
def test_arrows_inside_the_report_side_point_one_way(part):
    wrong = [
        f"{path.relative_to(ROOT)} imports workflow.{name}"
        for path in sorted((ROOT / "workflow" / part).rglob("*.py"))
        for name in sorted(parts(path.read_text("utf8")) & LATER[part])
    ]
    assert not wrong, "\n".join(wrong)


def test_figures_and_templates_compute_nothing_from_tables():
    """Plates draw facts: a figure that reads a CSV could disagree with the prose."""
    wrong = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "workflow" / "figures").rglob("*.py"))
        if imports(path.read_text("utf8")) & {"pandas", "csv", "scipy"}
    ]
    assert not wrong, wrong


def test_rules_hold_no_python_bodies():
    """A `run:` block costs seconds a job and hides logic from the packages."""
    for path in [ROOT / "Snakefile", *sorted((ROOT / "workflow" / "rules").glob("*.smk"))]:
        lines = [line.strip() for line in path.read_text("utf8").splitlines()]
        assert "run:" not in lines, path
        assert not any(line.startswith("import workflow") for line in lines), path


def test_top_level_is_the_given_one():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    names = {line.split("/")[0] for line in tracked.stdout.splitlines()}
    assert {name for name in names if not name.startswith(".")} == TOP_LEVEL


def test_the_reader_sees_arrows_that_point_the_wrong_way():
    assert imports("def f():\n    from engine.engine import Engine\n") == {"engine"}
    assert parts("from workflow import page, told\nfrom workflow.cli.new import run\nimport workflow.check") == {"page", "told", "cli", "check"}
    assert imports("import importlib\nimportlib.import_module('torch.nn')\n") == {"importlib", "torch"}
