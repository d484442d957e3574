"""The truth table of device predicates, with NVIDIA-like and HIP-like environments faked around a real torch."""

import csv
from types import SimpleNamespace

import pytest
import torch

from kernels import predicates
from kernels.registry import choose, operators

GPU_TENSOR = SimpleNamespace(is_cuda=True, device=torch.device("cuda", 0))
CPU_TENSOR = torch.zeros(1)
STRICT = "tensor.is_cuda and torch.version.cuda"


@pytest.fixture
def pretend(monkeypatch):
    """Make torch report another build and a present device."""

    def build(cuda, hip, available):
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(torch.version, "hip", hip)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: available)

    return build


def table(environment, tensor):
    return {row.predicate: row for row in predicates.truth_table(environment, tensor)}


def test_on_a_hip_device_the_strict_test_and_the_version_test_miss_the_kernel(pretend):
    pretend(cuda=None, hip="6.4.43482", available=True)
    rows = table("hip (faked)", GPU_TENSOR)
    assert {name for name, row in rows.items() if row.value} == {
        "torch.version.hip",
        "torch.cuda.is_available()",
        'tensor.device.type == "cuda"',
        "tensor.is_cuda",
    }
    assert not rows[STRICT].agrees and rows[STRICT].selects == "cpu"
    assert rows["tensor.is_cuda"].agrees
    assert predicates.environment_name() == "rocm"


def test_on_a_hip_device_every_operator_goes_to_triton(pretend):
    pretend(cuda=None, hip="6.4.43482", available=True)
    for op in operators():
        name, rule = choose(op, GPU_TENSOR)
        assert (name, rule.predicate) == ("triton", "tensor.is_cuda"), op


def test_on_nvidia_all_but_the_hip_test_agree(pretend):
    pretend(cuda="12.8", hip=None, available=True)
    rows = table("cuda (faked)", GPU_TENSOR)
    assert [name for name, row in rows.items() if not row.agrees] == ["torch.version.hip"]


@pytest.mark.parametrize("cuda, hip", [("12.8", None), (None, "6.4")])
def test_a_cpu_tensor_beside_a_gpu_is_misrouted_by_the_tests_that_do_not_look_at_it(pretend, cuda, hip):
    pretend(cuda=cuda, hip=hip, available=True)
    wrong = {name for name, row in table("faked", CPU_TENSOR).items() if not row.agrees}
    assert wrong == {"torch.cuda.is_available()", "torch.version.cuda" if cuda else "torch.version.hip"}
    assert choose("kda_verify", CPU_TENSOR)[0] == "cpu"


def test_the_table_of_this_process_is_written(tmp_path):
    out = tmp_path / "predicates.csv"
    assert predicates.main(["--out", str(out)]) == 0
    rows = list(csv.DictReader(out.open()))
    assert {row["predicate"] for row in rows} == set(predicates.PREDICATES)
    on_cpu = [row for row in rows if row["device"] == "cpu"]
    assert all(row["registry_selects"] == "cpu" for row in on_cpu)
    assert list(tmp_path.iterdir()) == [out]
