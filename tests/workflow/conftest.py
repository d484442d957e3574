"""A throw-away copy of the repository whose measurements are a stand-in: the DAG is under test here, not the engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.data.synthetic import write_campaign

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = '''"""Stand-in for a measurement: copies the prepared rows of its stage (or spoils them, or dies)."""
import argparse, json, pathlib, shutil, sys, time
from workflow.plan import STAGES
parser = argparse.ArgumentParser()
for flag in ("--campaign", "--out", "--preset", "--log", "--sweep", "--journal", "--resume", "--part"):
    parser.add_argument(flag)
parser.add_argument("--gather", nargs="+")
parser.add_argument("--report-only", action="store_true")
args = parser.parse_args()
here = pathlib.Path(__file__).resolve().parent.parent
mood = (here / "mood").read_text().strip() if (here / "mood").exists() else ""
if mood == "dies":
    sys.exit("the measurement died")
if mood.startswith("takes"):
    time.sleep(float(mood.split()[1]))
out = pathlib.Path(args.out)
out.mkdir(parents=True, exist_ok=True)
stage = next(stage for stage in STAGES if stage.name == (args.sweep or {"kernel_facts": "kernels"}.get(pathlib.Path(__file__).stem, pathlib.Path(__file__).stem)))
for number in [args.part] if args.part else []:
    (out / f"{stage.name}.{number.replace('/', '-of-')}.part.jsonl").write_text(number)
for file in [] if args.part else stage.files:
    shutil.copyfile(here / "prepared" / file, out / file)
    if args.gather and file.endswith(".manifest.json"):
        told = json.loads((out / file).read_text())
        told["parts"] = [{"part": pathlib.Path(name).name.split(".")[1], "host": "h", "node": "n", "start": "", "end": ""} for name in args.gather]
        (out / file).write_text(json.dumps(told))
    if mood == "spoils" and file.startswith("sweep"):
        with open(out / file, "a") as handle:
            handle.write("half a ro")
with open(here / "measured.log", "a") as handle:
    handle.write(stage.name + (args.part and ":" + args.part or args.gather and ":gathered" or "") + "\\n")
'''


@dataclass(frozen=True)
class Copy:
    """The copy, and how to run snakemake in it."""

    root: Path

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
        return subprocess.run(command, check=False, cwd=self.root, env=environment, capture_output=True, text=True, timeout=300)

    def scheduled(self, *arguments: str) -> set[str]:
        """Rules that a dry run would execute."""
        run = self.snakemake("-n", "site", *arguments)
        assert run.returncode == 0, run.stdout + run.stderr
        return set(re.findall(r"^(?:local)?rule (\w+):$", run.stdout + run.stderr, re.MULTILINE))

    def inputs(self, *arguments: str) -> dict[str, set[str]]:
        """Rule -> files that its jobs declare as input, were all of them to run."""
        run = self.snakemake("-n", "site", "-F", *arguments)
        assert run.returncode == 0, run.stdout + run.stderr
        found: dict[str, set[str]] = {}
        for rule, files in re.findall(r"^(?:local)?rule (\w+):\n {4}input: (.*)$", run.stdout + run.stderr, re.MULTILINE):
            found.setdefault(rule, set()).update(files.split(", "))
        return found

    def build(self, *arguments: str) -> str:
        run = self.snakemake("site", *arguments)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout + run.stderr

    @property
    def campaign(self) -> Path:
        return self.root / "workflow" / "campaigns" / "local"

    def measured(self) -> list[str]:
        log = self.root / "measured.log"
        return log.read_text().split() if log.exists() else []


def copy_repository(target: Path) -> Copy:
    for name in ("Snakefile", "pyproject.toml"):
        shutil.copy(ROOT / name, target / name)
    ignore = shutil.ignore_patterns("__pycache__", "build", "*.csv", "*.csv.gz", "*.manifest.json")
    for name in ("workflow", "templates"):
        shutil.copytree(ROOT / name, target / name, ignore=ignore)
    config = target / "workflow" / "config.yaml"
    config.write_text(re.sub(r"(?m)^campaigns: .*$", "campaigns: [local]", config.read_text("utf8")), "utf8")
    for name in ("sweep", "search", "gate", "kernel_facts"):
        (target / "engine").mkdir(exist_ok=True)
        (target / "engine" / f"{name}.py").write_text(STAND_IN, "utf8")
    (target / "kernels").mkdir()
    (target / "kernels" / "tile.py").write_text("ONE = 1\n", "utf8")
    shutil.copy(ROOT / "engine" / "fingerprint.py", target / "engine" / "fingerprint.py")
    write_campaign(target / "prepared", name="local")
    return Copy(target)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Copy:
    """A copy that has measured (by the stand-in) and built its site once."""
    copy = copy_repository(tmp_path_factory.mktemp("repository"))
    copy.build()
    return copy
