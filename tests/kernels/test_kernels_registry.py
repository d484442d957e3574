"""Dispatch by tensor: what is chosen, and what is said when there is nothing to choose."""

import importlib
import inspect
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from kernels import registry

CPU = torch.zeros(1)


def test_cpu_tensor_takes_the_fast_path_and_falls_back_to_the_reference():
    assert registry.choose("kda_verify", CPU)[0] == "cpu"
    assert registry.choose("top_p_renorm", CPU)[0] == "reference"


def test_other_devices_take_the_reference():
    assert registry.choose("kda_verify", torch.zeros(1, device="meta"))[0] == "reference"


def test_unknown_operator_lists_what_exists():
    with pytest.raises(LookupError, match="'kda_verfy' does not exist; there are: .*kda_verify"):
        registry.resolve("kda_verfy", CPU)


def test_missing_backend_raises_instead_of_falling_through(monkeypatch):
    monkeypatch.setattr(registry, "backends", lambda op: ("cpu", "reference"))
    tensor = SimpleNamespace(is_cuda=True, device="cuda:0")
    with pytest.raises(LookupError, match="'kda_gate' has no triton backend, which tensor.is_cuda .*cuda:0.* it has: cpu, reference"):
        registry.choose("kda_gate", tensor)


def test_unknown_backend_lists_what_exists():
    with pytest.raises(LookupError, match="'top_p_renorm' has no 'cpu' backend; it has: .*reference"):
        registry.load("top_p_renorm", "cpu")


@pytest.mark.parametrize("op", registry.operators())
def test_every_operator_has_a_documented_reference_that_states_its_errors(op):
    function = registry.load(op, "reference")
    assert function.__doc__, f"{op}: no docstring"
    for name in ("cpu",):
        if name in registry.backends(op):
            assert registry.load(op, name).__doc__, f"{op}/{name}: no docstring"


def test_resolving_on_cpu_never_imports_triton():
    code = (
        "import sys, torch; from kernels.registry import operators, resolve\n"
        "for op in operators(): resolve(op, torch.zeros(1))\n"
        "assert not any(name.split('.')[0] == 'triton' for name in sys.modules), 'triton imported'"
    )
    root = registry.ROOT.parent
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("op", registry.operators())
def test_each_reference_says_what_it_takes_refuses_and_comes_from(op):
    """The reference is the one truth of an operator, so its docstring names shapes, dtypes, errors and source."""
    module = importlib.import_module(f"kernels.{op}.reference")
    said = f"{module.__doc__}\n{inspect.getdoc(getattr(module, op))}"
    wanted = {"shapes": r"\[[^\]]+\]", "dtypes": r"float|int64|bool|dtype", "errors": r"ValueError|[Ee]rrors as `\w+`|returns and errors as", "source": r"Source: \w"}
    assert [name for name, pattern in wanted.items() if not re.search(pattern, said)] == []
