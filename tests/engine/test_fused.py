"""Mode `fused`: the same bits at every width, batch, verify path and thread count; close to eager; refused clearly where it cannot run."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pytest
import torch

from engine.config import ConfigError, SamplingParams
from engine.model.fused import compiler
from engine.model.random_weights import write_random_weights
from engine.model.tokenizer import Tokenizer
from engine.types import Request

from .conftest import TINY, TINY_DRAFT, boot, held_out, prompts, requests
from .test_bits import window_logits
from .test_lossless import histograms, one_by_one, texts

pytestmark = pytest.mark.skipif(not any(map(shutil.which, compiler.COMPILERS)), reason="no C++ compiler (apt-get install g++)")

TINY_EXPERTS = replace(TINY, num_experts=8, num_experts_per_tok=2, intermediate_size=32)


@pytest.fixture(autouse=True, scope="module")
def kept_builds(request):
    """Compile into pytest's own cache: once a checkout, and nothing in the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(request.config.cache.mkdir("soundings-fused")))
        yield


@pytest.fixture(scope="module")
def tiny_experts(tmp_path_factory):
    return write_random_weights(tmp_path_factory.mktemp("experts"), TINY_EXPERTS, TINY_DRAFT, seed=5, branch=0.3, agree=True)


def fused(weights, lane="plain", block_size=1, **settings):
    return boot(weights, lane, block_size, mode="fused", max_running_requests=16, **settings)


def check_bits(weights, ids, widths=(2, 4, 8)):
    with fused(weights) as engine:
        expected = window_logits(engine, ids, 1, 1)
        assert torch.equal(window_logits(engine, ids, 1, len(ids)), expected)
    for width in widths:
        for verify in ("shared", "serial"):
            with fused(weights, "dspark", width - 1, fused_verify=verify) as engine:
                for rows in (1, 3, len(ids)):
                    assert torch.equal(window_logits(engine, ids, width, rows), expected), f"W={width}, batch {rows}, {verify}"
    return expected


def test_bits_of_a_random_model_and_closeness_to_eager(tiny):
    ids = prompts(16, shortest=12)
    expected = check_bits(tiny, ids)
    with boot(tiny, max_running_requests=16) as engine:
        eager = window_logits(engine, ids, 1, len(ids)).float()
    # eager rounds every projection to bfloat16 and its logits too
    assert (expected - eager).abs().max() < 0.03 * eager.abs().max()


def test_bits_of_experts_and_closeness_to_eager(tiny_experts):
    ids = prompts(16, shortest=12)
    with boot(tiny_experts, max_running_requests=16) as engine:
        eager = window_logits(engine, ids, 1, 1)
        assert torch.equal(window_logits(engine, ids, 1, len(ids)), eager)
    with boot(tiny_experts, "dspark", 3, max_running_requests=16) as engine:
        assert torch.equal(window_logits(engine, ids, 4, 3), eager)
    expected = check_bits(tiny_experts, ids, widths=(4,))
    # a near tie may send a token to another expert, so closeness is a matter of most rows
    error = (expected - eager.float()).abs().amax(-1)
    assert error.median() < 0.03 * eager.float().abs().max()


def test_bits_of_the_trained_model(shipped):
    ids = held_out(Tokenizer.load(shipped), "code", 6, length=40)
    expected = check_bits(shipped, ids, widths=(4,))
    with boot(shipped, max_running_requests=16) as engine:
        eager = window_logits(engine, ids, 1, len(ids)).float()
    assert (expected - eager).abs().max() < 0.03 * eager.abs().max()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
@pytest.mark.parametrize("model", ["tiny", pytest.param("tiny_experts", marks=pytest.mark.slow)])
def test_threads_share_the_work_and_not_the_bits(model, request):
    weights, ids = request.getfixturevalue(model), prompts(3, shortest=12)
    with fused(weights, "dspark", 7) as engine:
        expected = window_logits(engine, ids, 8, 3)
    with fused(weights, "dspark", 7, threads=2) as engine:
        assert torch.equal(window_logits(engine, ids, 8, 3), expected)
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def plain_fused(tiny, kept_builds):
    with fused(tiny) as engine:
        return texts(engine.generate(requests(prompts(8))))


def test_windows_of_unequal_width(tiny, plain_fused):
    """Rows whose windows differ go through forwards of their own, a plain step among them."""
    table = tuple((positions, 1 / (30 + positions)) for positions in range(1, 80))
    wanted = requests(prompts(8))
    for lane, gamma, settings in (("lookup", 4, {}), ("dspark", 5, {"verify_mode": "compact", "sps_table": table})):
        with fused(tiny, lane, gamma, **settings) as engine:
            records = engine.generate(wanted)
        assert texts(records) == plain_fused
        assert any(0 < record.drafted < record.rounds * gamma for record in records)


@pytest.mark.parametrize("verify", ["shared", "serial"])
@pytest.mark.parametrize("lane, gamma", [("dspark", 1), ("dspark", 3), ("dspark", 7), ("mtp", 1), ("dflash", 3), ("lookup", 4)])
def test_speculation_gives_the_text_of_plain_decoding(tiny, plain_fused, lane, gamma, verify):
    wanted = requests(prompts(8))
    with fused(tiny, lane, gamma, fused_verify=verify) as engine:
        together = engine.generate(wanted)
        alone = one_by_one(engine, wanted)
    assert texts(together) == plain_fused
    assert texts(alone) == plain_fused
    assert histograms(alone) == histograms(together)
    assert 0 < sum(record.accepted for record in together) < sum(record.drafted for record in together)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_states_of_half_precision(tiny, dtype):
    """Rounded after every position, in a window as in single steps."""
    ids = prompts(5, shortest=12)
    with fused(tiny, mamba_ssm_dtype=dtype) as engine:
        expected = window_logits(engine, ids, 1, 1)
    with fused(tiny, "dspark", 3, mamba_ssm_dtype=dtype) as engine:
        assert torch.equal(window_logits(engine, ids, 4, 5), expected)
    with boot(tiny, max_running_requests=16, mamba_ssm_dtype=dtype) as engine:
        eager = window_logits(engine, ids, 1, 5).float()
    assert (expected - eager).abs().max() < 0.03 * eager.abs().max()


def test_greedy_drafts_do_not_depend_on_sampled_neighbours(tiny):
    """A batch with a sampled row steps through Python; the greedy rows keep their drafts."""
    ids = prompts(6)
    greedy = requests(ids)
    with fused(tiny, "dspark", 3) as engine:
        alone = engine.generate(greedy)
        mixed = engine.generate([*greedy, sampled(ids[0])])
    assert texts(mixed[:6]) == texts(alone)
    assert histograms(mixed[:6]) == histograms(alone)


def sampled(prompt):
    return Request("sampled", prompt, SamplingParams(temperature=0.9, max_tokens=24, ignore_eos=True, seed=4))


def test_server_info_says_what_runs(tiny):
    with fused(tiny, fused_verify="serial") as engine:
        info = engine.server_info()
    assert info["mode"] == "fused" and info["fused_verify"] == "serial"
    assert info["isa"] in ("avx512_bf16", "avx512f", "avx2", "sse2", "portable")
    assert info["compiler"] and info["fused_weights_bytes"] > 0
    assert info["fused_row_invariance"]["ok"]


LEVELS = {"x86-64-v4": "avx512f", "x86-64-v3": "avx2", "x86-64": "sse2"}
"""Level of the architecture -> the flag of a processor that can run it."""


@pytest.mark.slow
@pytest.mark.parametrize("march", [level for level, flag in LEVELS.items() if flag in compiler.cpu_flags()])
def test_other_instruction_sets(tiny, march, monkeypatch):
    """The same text compiled for less: invariant too, and close to what this machine's own set gives."""
    ids = prompts(8, shortest=12)
    with fused(tiny) as engine:
        native = window_logits(engine, ids, 1, 8)
    build = compiler.build
    monkeypatch.setattr("engine.model.fused.target.build", lambda head_dim, _: build(head_dim, march))
    expected = check_bits(tiny, ids, widths=(4,))
    assert (expected - native).abs().max() < 0.01 * native.abs().max()


def test_no_compiler_is_one_clear_line(tiny, monkeypatch):
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs a C\+\+ compiler.*apt-get install g\+\+\) or use --mode eager$"):
        fused(tiny)


def test_a_compiler_that_fails_is_one_clear_line(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "FLAGS", ("-this-is-no-flag",))
    with pytest.raises(ConfigError, match="failed .*use --mode eager$") as fault:
        compiler.build(32, folder=tmp_path)
    assert "\n" not in str(fault.value)
    assert not list(tmp_path.iterdir()), "a failed compilation must leave nothing behind"


@pytest.mark.parametrize("change, name", [({"intermediate_size": 40}, "intermediate_size 40"), ({"head_dim": 48}, "head_dim 48")])
def test_sizes_the_library_does_not_take_are_refused(tmp_path, change, name):
    weights = write_random_weights(tmp_path, replace(TINY, **change), TINY_DRAFT, seed=3)
    with pytest.raises(ConfigError, match=f"--mode fused: {name} must be"):
        fused(weights)
