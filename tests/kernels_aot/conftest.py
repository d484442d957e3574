"""Ahead-of-time compilation of the Triton kernels for four GPUs, without one: a process of its own, `pytest tests/kernels_aot`.

Compilation and the interpreter exclude each other in one process. The folder is collected only when it is named.
"""

import os

import pytest


def pytest_ignore_collect(collection_path, config):
    """Leave the folder alone unless it was asked for by name."""
    if not any("kernels_aot" in argument for argument in config.args):
        return True
    if os.environ.get("TRITON_INTERPRET") == "1":
        raise pytest.UsageError("tests/kernels_aot cannot run with TRITON_INTERPRET=1 in the environment")
    return None


def pytest_addoption(parser):
    parser.addoption("--aot-operator", action="append", default=[], help="compile this operator only (repeatable)")


@pytest.fixture(scope="session")
def rows(request):
    """Facts of every kernel on every target, compiled once for the session."""
    from kernels.facts import TARGETS, collect

    chosen = tuple(request.config.getoption("--aot-operator"))
    # Worker processes import torch and triton first; a few kernels are compiled sooner than that.
    return collect(tuple(TARGETS), chosen, jobs=1 if chosen else os.cpu_count() or 1)
