"""The cache in the engine: bit-equal with and without, hits where a checkpoint stands, slots by strategy, flush."""

from __future__ import annotations

import pytest
import torch

from engine.config import SamplingParams
from engine.types import Request

from .conftest import boot, prompts

LANES = [("plain", 1), ("dspark", 3), ("mtp", 1)]
ON = {"radix_cache": True, "chunked_prefill_size": 64, "max_running_requests": 3}


def shared_prompts(count: int = 6, common: int = 70, own: int = 21, seed: int = 7) -> list[tuple[int, ...]]:
    """Two families of prompts with a common beginning; the last prompt repeats the first."""
    heads = prompts(2, shortest=common, seed=seed)
    tails = prompts(count, shortest=own, seed=seed + 1)
    ids = [heads[i % 2][:common] + tails[i] for i in range(count)]
    return [*ids, ids[0]]


def serve(engine, ids, at_once=True, **sampling):
    """Records in order; one after another, or all queued at once."""
    params = {"max_tokens": 14, "ignore_eos": True} | sampling
    asked = [Request(f"r{i}", prompt, SamplingParams(seed=50 + i, **params)) for i, prompt in enumerate(ids)]
    return engine.generate(asked) if at_once else [engine.generate([one])[0] for one in asked]


def outcome(records):
    return [(r.token_ids, r.accepted_histogram) for r in records]


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.9}], ids=["greedy", "sampled"])
@pytest.mark.parametrize("strategy", ["no_buffer", "extra_buffer"])
@pytest.mark.parametrize("lane, gamma", LANES)
def test_text_and_counts_are_those_without_the_cache(tiny, lane, gamma, strategy, sampling):
    ids = shared_prompts()
    with boot(tiny, lane, gamma, **(ON | {"radix_cache": False})) as engine:
        expected = outcome(serve(engine, ids, **sampling))
    with boot(tiny, lane, gamma, **ON, radix_strategy=strategy) as engine:
        for at_once in (True, False, True):
            records = serve(engine, ids, at_once, **sampling)
            assert outcome(records) == expected
        assert sum(r.cached_tokens for r in records) > 0
        assert all(r.cached_tokens < r.isl and r.cached_tokens % 16 == 0 for r in records)


def test_prompts_that_differ_right_after_a_block(tiny):
    """An mtp drafter's key at the last position of a block hangs on the token after it."""
    head = prompts(1, shortest=32)[0]
    ids = [(*head, t, *range(10, 20)) for t in (5, 6, 7, 5, 6, 7)]
    for lane, gamma in LANES:
        with boot(tiny, lane, gamma) as engine:
            expected = outcome(serve(engine, ids, max_tokens=24))
        with boot(tiny, lane, gamma, **ON) as engine:
            assert outcome(serve(engine, ids, at_once=False, max_tokens=24)) == expected


def test_where_hits_come_from(tiny):
    """A repeated prompt hits at its last block; a shared beginning hits from the third prompt on, when its end is known."""
    head, tails = prompts(1, shortest=50)[0], prompts(3, shortest=20, seed=9)
    ids = [head + tail for tail in tails]
    with boot(tiny, **ON) as engine:
        first, second, third, again = (engine.generate([Request(str(i), p, SamplingParams(max_tokens=2))])[0] for i, p in enumerate([*ids, ids[0]]))
        assert (first.cached_tokens, second.cached_tokens) == (0, 0)
        assert third.cached_tokens == 48
        assert again.cached_tokens == (len(ids[0]) - 1) // 16 * 16
        info = engine.server_info()["prefix_cache"]
        assert (info["lookups"], info["hits"]) == (4, 2)
        assert engine.scheduler.kv_usage == 0 and engine.scheduler.state_usage == 0 and engine.kv.usage > 0
        engine.flush_cache()
        assert engine.kv.usage == 0 and engine.states.usage == 0
        assert engine.generate([Request("x", ids[0], SamplingParams(max_tokens=2))])[0].cached_tokens == 0


@pytest.mark.parametrize("settings, ratio, held", [({"radix_cache": False}, 1, 1), ({}, 3, 1), ({"radix_strategy": "extra_buffer"}, 5, 3)])
def test_slots_per_request(tiny, settings, ratio, held):
    with boot(tiny, "dspark", 2, **(ON | {"max_mamba_cache_size": 15, "max_running_requests": 99} | settings)) as engine:
        assert engine.server_info()["effective_max_running_requests"] == 15 // ratio
        assert engine.server_info()["cap_reason"] == "state_slots"
        engine.add_request(Request("a", prompts(1, shortest=60)[0], SamplingParams(max_tokens=40, ignore_eos=True)))
        for _ in range(4):
            engine.step()
        assert round(engine.scheduler.state_usage * 15) == held


def test_extra_buffer_keeps_its_checkpoints_while_the_request_runs(tiny):
    """Pressure on the state pool takes a running request's checkpoints under no_buffer, never under extra_buffer."""
    prompt = prompts(1, shortest=90)[0]
    hits = {}
    for strategy in ("no_buffer", "extra_buffer"):
        with boot(tiny, **ON, radix_strategy=strategy) as engine:
            engine.add_request(Request("long", prompt, SamplingParams(max_tokens=50, ignore_eos=True)))
            for _ in range(4):
                engine.step()
            assert len(engine.cache.checkpoints) == 2  # where the turn's budget ended, and the last block of the prompt
            while engine.cache.evict_slot():
                pass
            records = engine.generate([Request("same", prompt, SamplingParams(max_tokens=2))])
            hits[strategy] = records[0].cached_tokens
            while engine.has_work:
                engine.step()
            assert engine.cache.evictable_slots == len(engine.cache.checkpoints)
    assert hits == {"no_buffer": 0, "extra_buffer": 80}


def test_eviction_serves_what_does_not_fit_and_stays_bit_equal(tiny):
    ids = [p for n in range(3) for p in prompts(4, shortest=60, seed=n)]
    ids += ids[:6]
    for lane, gamma in LANES:
        with boot(tiny, lane, gamma) as engine:
            expected = outcome(serve(engine, ids))
        with boot(tiny, lane, gamma, **ON, max_total_num_tokens=384) as engine:
            assert outcome(serve(engine, ids)) == expected
            assert engine.server_info()["prefix_cache"]["evicted_pages"] > 0


def test_a_cap_on_checkpoints_of_one_path(tiny):
    ids = prompts(1, shortest=410)
    for cap, count in ((0, 7), (2, 2)):
        with boot(tiny, **ON, mamba_max_states_per_path=cap) as engine:
            serve(engine, ids)
            assert len(engine.cache.checkpoints) == count
            assert serve(engine, ids)[0].cached_tokens == 400


def test_a_poisoned_prompt_leaves_nothing_behind(tiny):
    ids = tuple(t if t != 63 else 4 for t in prompts(1, shortest=40)[0])
    with boot(tiny, "dspark", 3, **ON) as engine:
        good = serve(engine, [ids])[0]
        engine.flush_cache()
        clean = engine.target.embed
        engine.target.embed = clean.clone()
        engine.target.embed[63] = float("nan")
        assert serve(engine, [(63, *ids)])[0].finish_reason == "error: the logits are not finite"
        assert not engine.cache.checkpoints and engine.kv.usage == 0
        assert torch.isfinite(torch.stack([k.sum() for k in engine.kv.keys])).all()
        assert serve(engine, [ids])[0].token_ids == good.token_ids


def test_other_page_sizes(tiny):
    ids = shared_prompts()
    with boot(tiny, "dspark", 3) as engine:
        expected = outcome(serve(engine, ids))
    for page in (1, 8, 48):
        with boot(tiny, "dspark", 3, **ON, page_size=page) as engine:
            assert engine.cache.block == {1: 16, 8: 16, 48: 48}[page]
            assert outcome(serve(engine, ids, at_once=False)) == expected
            assert sum(r.cached_tokens for r in serve(engine, ids)) > 0
