"""The two proofs of the Triton kernels, each in a process of its own: values in the interpreter, binaries ahead of time.

The whole proofs take a minute or more and are marked slow; a part of each runs with every `pytest`.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def child(*arguments: str, interpret: bool, timeout: int) -> int:
    """Run pytest in a process of its own and return how many tests passed; any failure or skip fails here.

    An access out of bounds in a kernel ends that process and not this one.
    """
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["OMP_NUM_THREADS"] = "1"
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-o", "addopts=--strict-markers", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    summary = re.fullmatch(r"(\d+) passed(?:, \d+ warnings?)? in .*", done.stdout.strip().splitlines()[-1])
    assert summary, done.stdout[-2000:]
    return int(summary.group(1))


def test_interpreter_proof_in_part():
    files = [f"tests/kernels_interp/test_interp_{name}.py" for name in ("dispatch", "accept")]
    assert child(*files, interpret=True, timeout=500) > 30


def test_ahead_of_time_proof_in_part():
    operators = [f"--aot-operator={name}" for name in ("greedy_accept", "l2_norm")]
    assert child("tests/kernels_aot", *operators, interpret=False, timeout=500) > 8


@pytest.mark.slow
def test_interpreter_proof():
    assert child("tests/kernels_interp", interpret=True, timeout=590) > 150


@pytest.mark.slow
def test_ahead_of_time_proof():
    assert child("tests/kernels_aot", interpret=False, timeout=590) > 8


def test_the_proofs_refuse_the_wrong_process():
    """Named in the wrong mode they stop with a sentence, instead of passing without having tested anything."""
    for folder, interpret in (("tests/kernels_interp", False), ("tests/kernels_aot", True)):
        with pytest.raises(AssertionError, match="TRITON_INTERPRET=1 in the environment"):
            child(folder, interpret=interpret, timeout=120)
