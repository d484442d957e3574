"""`snakemake --lint`: what it still says, and why each is meant."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from workflow.plan import ROOT

MEANT = {
    # pip and one pinned lock file install the project; a measurement inside a container would be another measurement
    "Specify a conda environment or container for each rule.",
    # a value in `params` that changes (another interpreter, another preset) would measure again; only `-R` may
    "Shell command directly uses variable PYTHON from outside of the rule",
    "Shell command directly uses variable rule from outside of the rule",
    "Shell command directly uses variable config from outside of the rule",
}


def test_the_linter_says_nothing_else():
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--lint"], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    said = set(re.findall(r"(?m)^    \* (.*?):?$", run.stdout + run.stderr))
    assert said == MEANT
