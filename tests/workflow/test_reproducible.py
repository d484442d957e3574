"""Two clean builds of the whole site from the same rows, in two folders: every byte is the same."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workflow.plan import CAMPAIGNS, ROOT

pytestmark = pytest.mark.slow
NAME = "xeon-2core"
STEPS = (
    ("workflow.derive", "--campaign", str(CAMPAIGNS / NAME), "--out", f"build/{NAME}"),
    ("workflow.figures", "--values", f"build/{NAME}/values.json", "--out", f"build/{NAME}/figures"),
    ("workflow.page", "--build", "build", "--site", "site", "--campaign", NAME, "--site-url", "https://soundings.example/"),
)
# what may differ between two people: order of sets, language of messages and numbers, time zone, width of a terminal, who they are
ONE = {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC", "COLUMNS": "80", "HOME": "/nonexistent"}
OTHER = {"PYTHONHASHSEED": "4242", "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "COLUMNS": "200", "USER": "somebody"}


def build(root: Path, environment: dict[str, str]) -> dict[str, bytes]:
    """All files of the site and of the build folder, built in a copy of the report side."""
    for name in ("workflow", "templates"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "build", "local"))
    base = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
    for step in STEPS:
        done = subprocess.run(
            [sys.executable, "-m", *step], cwd=root, env={**base, **environment, "PYTHONPATH": str(root)}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return {str(path.relative_to(root)): path.read_bytes() for name in ("build", "site") for path in (root / name).rglob("*") if path.is_file()}


def test_two_builds_are_byte_identical(tmp_path):
    one = build(tmp_path / "here", ONE)
    other = build(tmp_path / "a longer way" / "und ganz woanders", OTHER)
    assert one.keys() == other.keys() and len(one) > 30
    assert [name for name in one if one[name] != other[name]] == []
    told = [name for name, content in one.items() if str(tmp_path).encode() in content]
    assert told == [], "a file says where it was built"
