"""Archived campaigns build on a machine without torch, and the README's figures are theirs."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workflow.check import README_BENCHMARK, README_CAMPAIGN
from workflow.plan import CAMPAIGNS, ROOT

ARCHIVED = sorted(
    path.parent.name for path in (ROOT / CAMPAIGNS).glob("*/campaign.yaml") if "measure" not in yaml.safe_load(path.read_text("utf8"))
)
FIRST_VIEW = 110_000
"""Bytes that a first view of the English page sends, compressed: the page, its style sheet and its script."""
LEFT = ("torch", "triton", "safetensors", "tokenizers", "engine", "kernels")


@pytest.fixture(scope="module")
def without_torch(tmp_path_factory) -> dict[str, str]:
    """An environment in which the left half of the project cannot be imported."""
    folder = tmp_path_factory.mktemp("blocked")
    blocked = "\n".join(f"sys.modules[{name!r}] = None" for name in LEFT)
    (folder / "sitecustomize.py").write_text(f"import sys\n{blocked}\n", "utf8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


def test_the_block_works(without_torch):
    assert run(without_torch, "-c", "import torch").returncode != 0
    assert run(without_torch, "-c", "import engine.config").returncode != 0


def test_there_is_an_archived_campaign():
    assert "xeon-2core" in ARCHIVED


@pytest.mark.parametrize("name", ARCHIVED)
def test_builds_without_torch(name, without_torch, tmp_path):
    build, site = tmp_path / "build", tmp_path / "site"
    for arguments in (
        ("-m", "workflow.derive", "--campaign", str(CAMPAIGNS / name), "--out", str(build / name)),
        ("-m", "workflow.figures", "--values", str(build / name / "values.json"), "--out", str(build / name / "figures")),
        ("-m", "workflow.page", "--build", str(build), "--site", str(site), "--campaign", name),
    ):
        done = run(without_torch, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (site / "index.html").is_file() and (site / "zh" / "index.html").is_file()
    page, *assets = ((site / name).read_bytes() for name in ("index.html", "assets/page.css", "assets/page.js"))
    assert sum(len(gzip.compress(part, 9)) for part in (page, *assets)) <= FIRST_VIEW


def test_the_readme_says_what_was_measured(tmp_path):
    for folder, out in ((CAMPAIGNS / README_CAMPAIGN, "rows"), (README_BENCHMARK, "pages")):
        done = run(dict(os.environ), "-m", "workflow.derive", "--campaign", str(folder), "--out", str(tmp_path / out))
        assert done.returncode == 0, done.stderr
    given = ("--values", str(tmp_path / "rows/values.json"), "--also", str(tmp_path / "pages/values.json"))
    check = run(dict(os.environ), "-m", "workflow.cli", "splice", "README.md", "--check", *given)
    assert check.returncode == 0, check.stdout + check.stderr
    drifted = tmp_path / "README.md"
    drifted.write_text(Path(ROOT / "README.md").read_text("utf8").replace("×<!--/n-->", "0×<!--/n-->", 1), "utf8")
    check = run(dict(os.environ), "-m", "workflow.cli", "splice", str(drifted), "--check", *given)
    assert check.returncode == 1
