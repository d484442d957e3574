"""The benchmark as a smoke test: every operator, small shapes, on CPU; times are printed and never judged here."""

import json
import subprocess
import sys

import pytest
import torch

from kernels.bench.__main__ import largest_error, layer_rows, main, operator_rows
from kernels.bench.cases import CASES
from kernels.bench.sizes import SIZES
from kernels.registry import ROOT, backends, operators

CPU = torch.device("cpu")


def test_every_operator_has_a_case():
    assert sorted(CASES) == list(operators())


@pytest.mark.parametrize("op", sorted(CASES))
def test_every_backend_agrees_with_its_reference(op):
    rows = list(operator_rows(op, SIZES["small"], CPU, repeats=1, extra=False))
    assert [row["backend"] for row in rows] == [name for name in ("reference", "cpu") if name in backends(op)]
    assert [row["backend"] for row in rows if row["chosen"]] == [rows[-1]["backend"]]
    for row in rows:
        limit = 0.13 if op in ("linear", "silu_mul") else 1e-4
        assert row["max_abs_error"] <= limit, row
        assert row["median_us"] > 0 and row["repeats"] == 1


def test_the_layer_prints_its_ratio_for_both_recurrences():
    rows = list(layer_rows(SIZES["small"], CPU, repeats=5))
    assert [(row["recurrence"], row["positions"]) for row in rows] == [("chosen", 1), ("chosen", 3), ("reference", 1), ("reference", 3)]
    for row in rows:
        assert row["ratio_to_one_position"] > 0
        assert row["positions"] != 1 or row["ratio_to_one_position"] == 1.0


def test_error_sees_shapes_and_values():
    a = torch.zeros(2, 3)
    assert largest_error((a, a), (a, a + 0.5)) == 0.5
    assert largest_error(a, torch.zeros(2, 4)) == float("inf")


def test_one_json_object_a_line():
    command = [sys.executable, "-m", "kernels.bench", "--operator", "l2_norm", "--operator", "kda_layer", "--repeats", "1", "--no-contenders"]
    done = subprocess.run(command, cwd=ROOT.parent, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["row"] for row in rows} == {"operator", "kda_layer"}
    assert {"operator", "backend", "max_abs_error", "median_us", "speedup"} <= set(rows[0])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--operator", "nothing"], "--operator nothing: no such operator; there are: accept_mixed"),
        (["--repeats", "0"], "--repeats and --threads must be at least 1"),
        (["--device", "cuda"], "--device cuda: torch sees no CUDA or ROCm device; use --device cpu"),
        (["--device", "fish"], "--device fish: expected cpu, cuda or cuda:N"),
        (["--device", "meta"], "--device meta: expected cpu, cuda or cuda:N"),
    ],
)
def test_bad_flags_are_named(arguments, message, capsys):
    if "cuda" in arguments and torch.cuda.is_available():
        pytest.skip("this machine has a device")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
