"""One kernel text, four binaries: what the compilers say about every kernel."""

import hashlib
import importlib.util
from collections import defaultdict

import pytest
import triton
import triton.language as tl
from triton.compiler.errors import CompilationError

from kernels import facts
from kernels.aot import variant
from kernels.facts import TARGETS
from kernels.registry import backends, operators

STATED_SPILLS = {("kda_chunk_walk", "sm_100"): 64}
"""Bytes of stack tolerated: the state tile of 128 key channels and its bfloat16 parts fill all 255 registers there."""

MATRIX_KERNELS = {"linear", "prefill_attention", "block_attention", "kda_chunk_local", "kda_chunk_walk"}


def test_every_operator_is_compiled_for_every_target(rows, request):
    wanted = request.config.getoption("--aot-operator") or operators()
    assert {(row.operator, row.target) for row in rows} == {(op, target) for op in wanted for target in TARGETS}
    for op in operators():
        assert "triton" in backends(op), f"{op} has no Triton kernel"


def test_one_text_for_four_targets(rows):
    hashes = defaultdict(set)
    for row in rows:
        hashes[row.operator, row.kernel].add(row.source_sha)
    assert {kernel: found for kernel, found in hashes.items() if len(found) != 1} == {}


def test_different_kernels_have_different_texts(rows):
    """The hash must see the kernel, or the test above could not fail."""
    kernels = defaultdict(set)
    for row in rows:
        kernels[row.source_sha].add(row.kernel)
    assert {sha: names for sha, names in kernels.items() if len(names) != 1} == {}


CALLER = """
import triton
import triton.language as tl

@triton.jit
def inner(x):
    return x + {number}

@triton.jit
def outer(x, y):
    tl.store(y, inner(tl.load(x)))
"""


def test_the_hash_covers_what_a_kernel_calls(tmp_path):
    """Kernels share functions across operators; two callers of one text and different callees must not count as one text."""
    found = []
    for place, number in enumerate((1, 2, 1)):
        # One name for all, which Triton writes into the IR of a call.
        path = tmp_path / str(place) / "caller.py"
        path.parent.mkdir()
        path.write_text(CALLER.format(number=number))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(facts.source_sha(facts.compile_variant(variant(module.outer, 1, x="*fp32", y="*fp32"), "gfx942")))
    assert found[0] != found[1] and found[0] == found[2]


def test_no_register_spills_but_the_stated_ones(rows):
    spilled = {(row.kernel, row.target): row.spills for row in rows if row.spills}
    assert {key: n for key, n in spilled.items() if n > STATED_SPILLS.get(key, 0)} == {}


def test_binaries_are_there_and_fit_the_machine(rows):
    for row in rows:
        assert row.bin_bytes > 1000 and row.instructions > 10 and row.registers > 0, row
        limit = 255 if row.target.startswith("sm_") else 512
        assert row.registers <= limit, row
        assert row.shared_bytes <= {"sm_90": 227 << 10, "sm_100": 227 << 10, "gfx942": 64 << 10, "gfx950": 160 << 10}[row.target], row
        assert row.warp_size == (32 if row.target.startswith("sm_") else 64)


def test_products_reach_the_matrix_units_on_both_vendors(rows):
    for row in rows:
        if row.kernel in MATRIX_KERNELS:
            assert row.matrix_instructions > 0, row
        else:
            assert row.matrix_instructions == 0, row


def test_the_dispatch_column_is_the_registrys_rule(rows):
    assert {row.dispatch for row in rows} == {"tensor.is_cuda"}
    for row in rows:
        assert row.fallbacks.split() == [name for name in backends(row.operator) if name != "triton"]


def test_compiling_again_gives_the_same_bytes(monkeypatch):
    monkeypatch.setattr(triton.knobs.compilation, "always_compile", True)
    _, variant = next(item for item in facts.kernel_variants() if item[0] == "greedy_accept")
    for target, binary in (("sm_90", "cubin"), ("gfx942", "hsaco")):
        one, two = (facts.compile_variant(variant, target).asm[binary] for _ in range(2))
        assert hashlib.sha256(one).digest() == hashlib.sha256(two).digest()


@triton.jit
def _changing_type(out, n):
    total = 0
    for _ in range(n):
        total = total + 1.5
    tl.store(out, total)


def test_a_type_error_that_only_the_compiler_sees_is_seen():
    """The interpreter runs this kernel and gives a number; that is why compilation is a proof of its own."""
    with pytest.raises(CompilationError, match="total"):
        facts.compile_variant(variant(_changing_type, 1, out="*fp32", n="i32"), "gfx942")
