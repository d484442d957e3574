"""Running out of KV pages changes when tokens come, never which: retracted requests are replayed to the bit."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.config import SamplingParams
from engine.types import Request

from .conftest import boot, prompts, requests

LANES = [("plain", 1), ("dspark", 3), ("mtp", 1)]
TIGHT = {"max_total_num_tokens": 160, "page_size": 16, "max_running_requests": 6, "schedule_conservativeness": 0.05}


def outcome(records):
    return [(r.token_ids, r.accepted_histogram, r.finish_reason) for r in records]


@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.9, "top_k": 20}], ids=["greedy", "sampled"])
@pytest.mark.parametrize("lane, gamma", LANES)
@pytest.mark.parametrize("cached", [False, True], ids=["", "cached"])
def test_same_text_and_same_counts(tiny, lane, gamma, sampling, cached):
    ids = prompts(5, shortest=8)
    ask = lambda: requests(ids, max_tokens=60, ignore_eos=False, **sampling)
    with boot(tiny, lane, gamma) as engine:
        expected = outcome(engine.generate(ask()))
    with boot(tiny, lane, gamma, **TIGHT, radix_cache=cached, max_mamba_cache_size=18) as engine:
        steps = []
        for request in ask():
            engine.add_request(request)
        while engine.has_work:
            steps.append(engine.step())
        records = {r.request_id: r for r in engine.pop_finished()}
        assert outcome(records[f"r{i}"] for i in range(5)) == expected
        assert sum(s.retracted for s in steps) == sum(r.retractions for r in records.values()) > 0
        assert records["r0"].retractions == 0
        assert all(s.blocked_by for s in steps if s.queued)
        engine.flush_cache()
        assert engine.kv.usage == 0 and engine.states.usage == 0


@pytest.mark.parametrize("lane, mode", [("dflash", "eager"), ("lookup", "eager"), ("dspark", "fused"), ("dspark", "graph")])
def test_other_lanes_and_modes_replay_too(tiny, lane, mode):
    ids = prompts(5, shortest=8)
    with boot(tiny, lane, 3, mode=mode) as engine:
        expected = outcome(engine.generate(requests(ids, max_tokens=50, ignore_eos=False)))
    with boot(tiny, lane, 3, mode=mode, **TIGHT, radix_cache=True, max_mamba_cache_size=18) as engine:
        records = engine.generate(requests(ids, max_tokens=50, ignore_eos=False))
        assert outcome(records) == expected and sum(r.retractions for r in records) > 0


def test_replay_rebuilds_the_bits(tiny):
    """State, keys and drafter rows after a replay, against those of a request that stayed."""
    for lane, gamma in LANES:
        with boot(tiny, lane, gamma) as engine:
            engine.add_request(Request("a", prompts(1, shortest=37)[0], SamplingParams(max_tokens=60, seed=5)))
            for _ in range(9):
                engine.step()
            (sequence,) = engine.scheduler.running
            before = snapshot(engine, sequence)
            engine.scheduler.retract(sequence)
            engine.batch = None
            while not engine.scheduler.running:
                engine.step()
            after = snapshot(engine, sequence)
            assert before[0] == after[0]
            assert all((a == b).all() for a, b in zip(before[1:], after[1:], strict=True))


def snapshot(engine, sequence):
    """Tokens, state, and the committed keys and values; in lane mtp the newest draft pair is written by the next round."""
    slot, size = sequence.slot, engine.kv.page_size
    rows = [sequence.pages[p // size] * size + p % size for p in range(sequence.length)]
    layers = len(engine.model.attention_layers)
    caches = [c[rows].clone() for kind in (engine.kv.keys, engine.kv.values) for c in kind[:layers]]
    drafts = [c[rows[:-1]].clone() for kind in (engine.kv.keys, engine.kv.values) for c in kind[layers:]]
    kept = [t[slot].clone() for t in engine.states.companions]
    return [
        (sequence.length, sequence.anchor, list(sequence.record.token_ids)),
        engine.states.temporal[:, slot].clone(), engine.states.conv[:, slot].clone(), *caches, *drafts, *kept,
    ]


def test_ignore_eos_reserves_whole_lives_and_never_retracts(tiny):
    for conservativeness in (0.0, 1.0):
        with boot(tiny, "dspark", 3, **(TIGHT | {"schedule_conservativeness": conservativeness})) as engine:
            for request in requests(prompts(5, shortest=8), max_tokens=60):
                engine.add_request(request)
            steps = []
            while engine.has_work:
                steps.append(engine.step())
        assert not any(s.retracted for s in steps)
        assert "new_token_reserve" in {s.blocked_by for s in steps}


def test_conservativeness_trades_retractions_for_waiting(tiny):
    retracted, reserved = [], []
    for value in (0.05, 1.0, 2.0):
        with boot(tiny, **(TIGHT | {"schedule_conservativeness": value})) as engine:
            for request in requests(prompts(5, shortest=8), max_tokens=60, ignore_eos=False):
                engine.add_request(request)
            steps = []
            while engine.has_work:
                steps.append(engine.step())
        retracted.append(sum(s.retracted for s in steps))
        reserved.append(sum(s.blocked_by == "new_token_reserve" for s in steps))
    assert retracted[0] > retracted[1] >= retracted[2] and reserved[0] < reserved[2]


loads = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 70), st.booleans(), st.integers(0, 6)), min_size=1, max_size=9)


@pytest.fixture(scope="module", params=[("plain", 1), ("dspark", 2)], ids=["plain", "dspark"])
def tight_engine(request, tiny):
    with boot(tiny, *request.param, **TIGHT, radix_cache=True, max_mamba_cache_size=12) as engine:
        yield engine


@given(loads)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nobody_starves_and_first_come_is_first_admitted(tight_engine, load):
    """Requests arrive over time; all end, in bounded steps, and none is admitted before one that came earlier."""
    engine, scheduler = tight_engine, tight_engine.scheduler
    pending = list(enumerate(load))
    total = sum(isl + tokens for isl, tokens, *_ in load)
    records = {}
    for turn in range(60 + 12 * total):
        while pending and pending[0][1][3] <= turn:
            i, (isl, tokens, eos, _) = pending.pop(0)
            engine.add_request(Request(f"n{i}", tuple(4 + (i + j) % 50 for j in range(isl)), SamplingParams(max_tokens=tokens, ignore_eos=eos, temperature=0.7)))
        engine.step()
        held = [s.arrival for s in (*scheduler.prefilling, *scheduler.running)]
        assert max(held, default=0) < min((s.arrival for s in scheduler.waiting), default=1 << 60)
        assert [s.arrival for s in scheduler.waiting] == sorted(s.arrival for s in scheduler.waiting)
        records |= {r.request_id: r for r in engine.pop_finished()}
        if not pending and not engine.has_work:
            break
    assert len(records) == len(load)
    served = [r for r in records.values() if not r.finish_reason.startswith("error")]
    assert all(r.finish_reason in ("stop", "length") for r in served)
    engine.flush_cache()
    assert engine.kv.usage == 0 and engine.states.usage == 0
