"""The truth table of device predicates, with NVIDIA-like and HIP-like environments faked around a real torch."""

import csv
import pytest
import torch

from kernels import predicates
from kernels.registry import choose, operators

GPU_TENSOR = predicates.GPU_TENSOR
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


def table(tensor):
    return {row.predicate: row for row in predicates.truth_table(predicates.Build.here(), tensor)}


def test_on_a_hip_device_the_strict_test_and_the_version_test_miss_the_kernel(pretend):
    pretend(cuda=None, hip="6.4.43482", available=True)
    rows = table(GPU_TENSOR)
    assert {name for name, row in rows.items() if row.value} == {
        "torch.version.hip",
        "torch.cuda.is_available()",
        'tensor.device.type == "cuda"',
        "tensor.is_cuda",
    }
    assert not rows[STRICT].agrees and rows[STRICT].selects == "cpu"
    assert rows["tensor.is_cuda"].agrees
    assert predicates.Build.here().name == "rocm"


def test_on_a_hip_device_every_operator_goes_to_triton(pretend):
    pretend(cuda=None, hip="6.4.43482", available=True)
    for op in operators():
        name, rule = choose(op, GPU_TENSOR)
        assert (name, rule.predicate) == ("triton", "tensor.is_cuda"), op


def test_on_nvidia_all_but_the_hip_test_agree(pretend):
    pretend(cuda="12.8", hip=None, available=True)
    rows = table(GPU_TENSOR)
    assert [name for name, row in rows.items() if not row.agrees] == ["torch.version.hip"]


@pytest.mark.parametrize("cuda, hip", [("12.8", None), (None, "6.4")])
def test_a_cpu_tensor_beside_a_gpu_is_misrouted_by_the_tests_that_do_not_look_at_it(pretend, cuda, hip):
    pretend(cuda=cuda, hip=hip, available=True)
    wrong = {name for name, row in table(CPU_TENSOR).items() if not row.agrees}
    assert wrong == {"torch.cuda.is_available()", "torch.version.cuda" if cuda else "torch.version.hip"}
    assert choose("kda_verify", CPU_TENSOR)[0] == "cpu"


@pytest.mark.parametrize("place", [0, 1])
def test_a_described_build_says_what_a_faked_one_does(pretend, place):
    """The written table describes builds that do not run here; torch made to report the same gives the same rows."""
    build = predicates.DESCRIBED[place]
    pretend(build.cuda, build.hip, build.available)
    assert predicates.Build.here() == build
    for tensor in (CPU_TENSOR, GPU_TENSOR):
        assert predicates.truth_table(build, tensor) == predicates.truth_table(predicates.Build.here(), tensor)


def test_the_table_of_all_builds_is_written(tmp_path):
    out = tmp_path / "predicates.csv"
    assert predicates.main(["--out", str(out)]) == 0
    rows = list(csv.DictReader(out.open()))
    assert {row["predicate"] for row in rows} == set(predicates.PREDICATES)
    assert {(row["build"], row["device"]) for row in rows} >= {("cuda", "cpu"), ("cuda", "cuda"), ("rocm", "cpu"), ("rocm", "cuda")}
    for row in rows:
        assert row["registry_selects"] == {"cpu": "cpu", "cuda": "triton"}[row["device"]], row
    assert {row["predicate"] for row in rows if row["agrees"] == "0"} == set(predicates.PREDICATES) - {"tensor.is_cuda", 'tensor.device.type == "cuda"'}
    assert list(tmp_path.iterdir()) == [out]
