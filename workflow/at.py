"""Run a program of ours where a job's files are: `python -m workflow.at LOG MODULE ARGUMENT...`.

Rules name their files relative to the repository. Where nodes share no file system, Snakemake stages what a rule declares below a folder of its
own and tells where by the path of the log; from there the same names hold, and what a rule did not declare is not there.
"""

from __future__ import annotations

import gc
import os
import runpy
import sys
from pathlib import Path

from workflow.plan import BUILD

LOGS = f"{BUILD}/logs/"


def root_of(log: str) -> Path:
    """Folder from which `log` is the path that the rules give it; the working folder where nothing is staged."""
    before, found, _ = log.rpartition(LOGS)
    if not found or (before and not before.endswith("/")):
        raise ValueError(f"{log}: not a log of this workflow; expected a path with {LOGS} in it")
    return Path(before or ".")


def main(argv: list[str]) -> int:
    try:
        log, *command = argv
        root = root_of(log)
        if not command:
            raise ValueError("no program to run; expected LOG MODULE ARGUMENT...")
        root.mkdir(parents=True, exist_ok=True)
        os.chdir(root)
    except (ValueError, OSError) as error:
        print(f"workflow.at: {error}", file=sys.stderr)
        return 2
    if root == Path("."):  # nothing is staged: the program's files are those that this process has
        sys.argv[1:] = command[1:]
        try:
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
        finally:
            gc.freeze()  # the process ends: looking through what is left of a page for cycles takes longer than to write it
        return 0
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", *command])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
