"""The two proofs of the Triton kernels, each in a process of its own: values in the interpreter, binaries ahead of time.

The whole proofs take a minute or more and are marked slow; a part of each runs with every `pytest`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def child(*arguments: str, interpret: bool, timeout: int) -> str:
    """Run pytest in a fresh interpreter; an access out of bounds in a kernel kills that process and not this one."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["OMP_NUM_THREADS"] = "1"
    if interpret:
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def test_interpreter_proof_in_part():
    assert " passed" in child("tests/kernels_interp/test_interp_dispatch.py", "tests/kernels_interp/test_interp_accept.py", interpret=True, timeout=500)


def test_ahead_of_time_proof_in_part():
    operators = [f"--aot-operator={name}" for name in ("greedy_accept", "l2_norm")]
    assert " passed" in child("tests/kernels_aot", *operators, interpret=False, timeout=500)


@pytest.mark.slow
def test_interpreter_proof():
    assert " passed" in child("tests/kernels_interp", interpret=True, timeout=590)


@pytest.mark.slow
def test_ahead_of_time_proof():
    assert " passed" in child("tests/kernels_aot", interpret=False, timeout=590)


def test_the_proofs_refuse_the_wrong_process():
    """Named in the wrong mode they stop with a sentence, instead of passing without having tested anything."""
    for folder, interpret in (("tests/kernels_interp", False), ("tests/kernels_aot", True)):
        with pytest.raises(AssertionError, match="TRITON_INTERPRET=1 in the environment"):
            child(folder, interpret=interpret, timeout=120)
