"""Norms, activation and linears: parity with the reference, and rows that do not see each other."""

import pytest
import torch

from kernels.linear import cpu as linear_cpu
from kernels.linear.cpu import MODES, linear_self_test
from kernels.registry import load

SHAPES = [(768, 256), (256, 640), (32, 256), (4, 256)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 5])
def test_norms_match_the_reference(rand, dtype, rows):
    x, gate, weight = rand(rows, 4, 64, dtype=dtype), rand(rows, 4, 64, dtype=dtype), rand(64)
    tolerance = dict(rtol=1e-6, atol=1e-6) if dtype is torch.float32 else dict(rtol=1e-2, atol=1e-6)
    for op, arguments in (("rms_norm", (x, weight)), ("rms_norm_gated", (x, gate, weight)), ("silu_mul", (x,)), ("l2_norm", (x.float(),))):
        torch.testing.assert_close(load(op, "cpu")(*arguments), load(op, "reference")(*arguments), **tolerance)


def test_norm_of_zero_and_huge_rows(rand):
    x = torch.stack([torch.zeros(64), torch.full((64,), 1e15), torch.full((64,), 1e-20)])
    for backend in ("reference", "cpu"):
        y = load("rms_norm", backend)(x, torch.ones(64))
        assert torch.isfinite(y).all() and y[0].abs().max() == 0
        torch.testing.assert_close(y[1], torch.ones(64))
        assert load("l2_norm", backend)(x)[0].abs().max() == 0


def test_norm_rounds_once_into_the_asked_dtype(rand):
    x, weight = rand(3, 256), rand(256)
    exact = load("rms_norm", "reference")(x, weight)
    assert torch.equal(load("rms_norm", "cpu")(x, weight, out_dtype=torch.bfloat16), exact.bfloat16())


@pytest.mark.parametrize("op", ["rms_norm", "rms_norm_gated", "l2_norm", "silu_mul"])
def test_rows_are_independent_to_the_bit(rand, op):
    x, gate, weight = rand(192, 256), rand(192, 256), rand(256)
    arguments = {"rms_norm": (x, weight), "rms_norm_gated": (x, gate, weight), "l2_norm": (x,), "silu_mul": (x,)}[op]
    function = load(op, "cpu")
    whole = function(*arguments)
    for count in (1, 2, 3, 7, 64):
        some = function(*(a[5 : 5 + count] if a.shape[0] == 192 else a for a in arguments))
        assert torch.equal(some, whole[5 : 5 + count]), count


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_linear_rows_are_independent_to_the_bit(rand, shape, threads):
    torch.set_num_threads(threads)
    weight = rand(*shape, dtype=torch.bfloat16)
    project = load("linear", "cpu")(weight)
    x = rand(150, shape[1], dtype=torch.bfloat16)
    alone = torch.cat([project(x[i : i + 1]) for i in range(x.shape[0])])
    for count in (1, 2, 3, 8, 9, 33, 128, 129, 150):
        assert torch.equal(project(x[:count]), alone[:count]), (count, project.mode)
    assert project(x[:0]).shape == (0, shape[0])


@pytest.mark.parametrize("rows", [129, 511, 512, 700, 2048, 2049, 2700])
def test_long_prompts_have_the_rows_of_short_ones(rand, rows):
    weight, x = rand(256, 64, dtype=torch.bfloat16), rand(rows, 64, dtype=torch.bfloat16)
    project = load("linear", "cpu")(weight)
    assert torch.equal(project(x), torch.cat([project(part) for part in x.split(7)]))


def test_large_counts_are_run_only_where_they_equal_their_blocks(rand, monkeypatch):
    weight = rand(256, 64, dtype=torch.bfloat16)
    assert set(linear_cpu.large_counts(weight, "plain")) <= set(linear_cpu.LARGE_ROW_COUNTS)
    assert linear_cpu.large_counts(weight, "rowwise") == ()
    monkeypatch.setattr(linear_cpu, "LARGE_FEATURES", 255)
    assert linear_cpu.large_counts(weight, "plain") == ()
    monkeypatch.undo()
    build = linear_cpu._BUILDERS["plain"]

    def crooked(weight):
        project = build(weight)
        return lambda x: project(x) + (1 if x.shape[0] == 512 else 0)

    monkeypatch.setitem(linear_cpu._BUILDERS, "plain", crooked)
    assert 512 not in linear_cpu.large_counts(weight, "plain")


def test_linear_matches_the_reference(rand):
    weight, x = rand(96, 256, dtype=torch.bfloat16), rand(7, 256, dtype=torch.bfloat16)
    wanted = load("linear", "reference")(weight)(x)
    torch.testing.assert_close(load("linear", "cpu")(weight)(x).float(), wanted.float(), rtol=2e-2, atol=1e-1)


def test_self_test_reports_modes_and_finds_a_mode_that_depends_on_the_row_count(rand, monkeypatch):
    """A projection that rounds differently from three rows on must be passed over, not taken."""
    from kernels.linear import cpu

    def fickle(weight):
        def project(x):
            y = torch.nn.functional.linear(x, weight)
            return y if x.shape[0] < 3 else y * 1.01

        return project

    monkeypatch.setitem(cpu._BUILDERS, "packed", fickle)
    report = linear_self_test(rand(8, 16, dtype=torch.bfloat16), rows=(1, 2, 3, 4))
    assert report["mismatches"]["packed"] == [3, 4]
    assert report["mode"] in MODES[1:]


def test_self_test_refuses_a_host_without_any_reproducible_mode(rand, monkeypatch):
    from kernels.linear import cpu

    noise = iter(range(10**6))
    for mode in MODES:
        monkeypatch.setitem(cpu._BUILDERS, mode, lambda weight: lambda x: x.new_full((x.shape[0], 4), float(next(noise))))
    with pytest.raises(RuntimeError, match=r"weight \[4, 16\]: no mode gives reproducible rows"):
        linear_self_test(torch.zeros(4, 16), rows=(1, 2))
