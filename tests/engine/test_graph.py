"""Mode `graph`: eager's bits from static memory, real padding, buckets up to the limit."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest
import torch

from engine.model.graph.arena import Arena
from engine.model.graph.tape import Tape
from engine.model.graph.target import buckets

from .conftest import boot, prompts, requests
from .test_bits import window_logits
from .test_lossless import histograms, one_by_one, texts


def graph(weights, lane="plain", block_size=1, **settings):
    return boot(weights, lane, block_size, mode="graph", **settings)


def test_logits_are_those_of_eager_at_every_batch(tiny):
    ids = prompts(7, shortest=12)
    with boot(tiny) as engine:
        expected = window_logits(engine, ids, 1, 1)
    for lane, width in (("plain", 1), ("dspark", 2), ("dspark", 8)):
        with graph(tiny, lane, max(width - 1, 1)) as engine:
            for rows in (1, 3, 7):
                assert torch.equal(window_logits(engine, ids, width, rows), expected), f"W={width}, batch {rows}"
            assert engine.server_info()["graph_uncaptured_windows"] == 0


def test_recording_does_not_import_the_compiler():
    """It takes longer to import than all buckets take to record."""
    script = """
import sys, torch
from engine.model.graph.tape import Tape
with torch.inference_mode(), Tape() as tape:
    torch.cat([torch.ones(2), torch.ones(2)]).mul_(3)
assert tape.nodes and "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_states_of_half_precision(tiny, dtype):
    ids = prompts(3, shortest=12)
    with boot(tiny, mamba_ssm_dtype=dtype) as engine:
        expected = window_logits(engine, ids, 1, 1)
    with graph(tiny, "dspark", 3, mamba_ssm_dtype=dtype) as engine:
        assert torch.equal(window_logits(engine, ids, 4, 3), expected)


@pytest.mark.parametrize("lane, gamma", [("dspark", 1), ("dspark", 3), ("mtp", 1), ("lookup", 4)])
def test_speculation_gives_the_text_of_plain_decoding(tiny, lane, gamma):
    wanted = requests(prompts(8))
    with graph(tiny) as engine:
        plain = texts(engine.generate(wanted))
    with graph(tiny, lane, gamma) as engine:
        together = engine.generate(wanted)
        alone = one_by_one(engine, wanted)
    assert texts(together) == plain
    assert texts(alone) == plain
    assert histograms(alone) == histograms(together)


def test_padding_is_recorded_and_the_limit_holds(tiny):
    """Five requests run in the bucket of eight; above `--cuda-graph-max-bs` a step is not captured."""
    wanted = requests(prompts(5), max_tokens=4)
    for top, padded, uncaptured in ((0, 3, 0), (4, 0, 3)):
        with graph(tiny, cuda_graph_max_bs=top) as engine:
            for request in wanted:
                engine.add_request(request)
            steps = []
            while engine.has_work:
                steps.append(engine.step())
            info = engine.server_info()
        assert [step.padded for step in steps if step.kind == "decode"] == [padded] * 3
        assert info["graph_uncaptured_windows"] == uncaptured
        assert info["graph_bytes"] > 0 and info["graph_buckets"][-1] == (top or 8)


def test_more_buckets_take_more_memory(tiny):
    sizes = []
    for top in (1, 4, 8):
        with graph(tiny, cuda_graph_max_bs=top) as engine:
            sizes.append(engine.server_info()["graph_bytes"])
    assert sizes[0] < sizes[1] < sizes[2]


def test_buckets():
    assert buckets(1) == (1,)
    assert buckets(5) == (1, 2, 4, 5)
    assert buckets(48) == (1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 48)
    assert buckets(50)[-2:] == (48, 50)


def test_memory_is_taken_again_only_when_nothing_looks_at_it():
    arena = Arena()
    a = arena.empty((4, 4), torch.float32)
    view = a[1]
    arena.watch(view)
    first = a.data_ptr()
    del a
    gc.collect()
    b = arena.empty((4, 4), torch.float32)
    assert b.data_ptr() != first, "a view still looks at it"
    del view
    gc.collect()
    assert arena.empty((4, 4), torch.float32).data_ptr() == first
    assert arena.bytes == 128


@torch.inference_mode()
def test_a_tape_computes_again_from_changed_inputs():
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(3, 4, generator=generator), torch.randn(4, 4, generator=generator)

    def program(x):
        y = (x @ w).relu()
        y.add_(1)
        left, right = y.split(2, 1)
        return torch.cat([left * right, (y.sum(1, keepdim=True) - x).sigmoid()], 1)

    with Tape() as tape:
        result = program(x)
    for seed in range(3):
        x.copy_(torch.randn(3, 4, generator=torch.Generator().manual_seed(seed)))
        tape.replay()
        assert torch.equal(result, program(x))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@torch.inference_mode()
def test_a_cuda_graph_replays_a_window_with_padding():
    from engine.model.graph.cuda import CudaBatch, CudaWindow

    device = torch.device("cuda")
    table = torch.randn(16, 8, device=device)
    batch = CudaBatch.empty(4, 2, 3, 16, padding_slot=9, device=device)

    def forward(ids, batch):
        return table[ids] + batch.slots[:, None, None] + batch.lengths[:, None, None], None

    window = CudaWindow(forward, batch, 2)
    real = CudaBatch.empty(3, 2, 3, 16, padding_slot=9, device=device)
    real.slots.copy_(torch.arange(3, device=device))
    real.lengths.fill_(5)
    ids = torch.randint(0, 16, (3, 2), device=device)
    logits, _ = window.run(ids, real)
    assert torch.equal(logits, forward(ids, real)[0])
    assert batch.slots[3] == 9 and batch.window_slots[6:].eq(-1).all()


def test_static_inputs_of_a_device_hold_a_smaller_batch():
    """The part of the CUDA path that needs no device: padded rows write nothing and belong to nobody."""
    from engine.model.graph.cuda import CudaBatch

    batch = CudaBatch.empty(4, 2, 3, 16, padding_slot=9, device=torch.device("cpu"))
    real = CudaBatch.empty(3, 2, 2, 16, padding_slot=9, device=torch.device("cpu"))
    real.slots.copy_(torch.arange(3))
    real.lengths.fill_(5)
    real.window_slots.copy_(torch.arange(6))
    batch.load(real)
    assert batch.slots.tolist() == [0, 1, 2, 9] and batch.lengths.tolist() == [5, 5, 5, 0]
    assert batch.window_slots.tolist() == [0, 1, 2, 3, 4, 5, -1, -1]
