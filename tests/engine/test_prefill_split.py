"""How a prompt is cut must leave no trace: same text, same accepted counts, same bits in the pools."""

from __future__ import annotations

import pytest
import torch

from .conftest import boot, prompts, requests


def run(weights, lane, gamma, size, ids):
    with boot(weights, lane, gamma, chunked_prefill_size=size) as engine:
        records = engine.generate(requests(ids, max_tokens=12))
        pools = [t.clone() for t in (engine.states.temporal, engine.states.conv, *engine.kv.keys, *engine.kv.values)]
    return [r.token_ids for r in records], [r.accepted_histogram for r in records], pools


@pytest.mark.parametrize("lane, gamma", [("plain", 1), ("dspark", 3), ("mtp", 1)])
def test_cuts_leave_no_trace(tiny, lane, gamma):
    ids = prompts(1, shortest=211)
    whole = run(tiny, lane, gamma, 256, ids)
    for size in (16, 48, 112):
        cut = run(tiny, lane, gamma, size, ids)
        assert cut[:2] == whole[:2]
        assert all(torch.equal(a, b) for a, b in zip(cut[2], whole[2]))


def test_a_prompt_that_ends_on_a_chunk(tiny):
    for length in (15, 16, 17, 32):
        ids = prompts(1, shortest=length)
        assert run(tiny, "dspark", 3, 16, ids)[:2] == run(tiny, "dspark", 3, 256, ids)[:2]


def test_shared_turns_equal_lone_turns(tiny):
    ids = prompts(5, shortest=20)
    assert run(tiny, "dspark", 2, 64, ids)[:2] == run(tiny, "dspark", 2, 256, ids)[:2]
