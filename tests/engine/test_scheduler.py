"""Admission: in order, whole lives only, and the reason why the queue's head waits."""

from __future__ import annotations

import pytest

from engine.config import SamplingParams
from engine.types import Request

from .conftest import boot


def ask(name: str, isl: int, max_tokens: int = 6) -> Request:
    return Request(name, tuple(5 + i % 50 for i in range(isl)), SamplingParams(max_tokens=max_tokens, ignore_eos=True))


def drain(engine):
    steps = []
    while engine.has_work and (step := engine.step()):
        steps.append(step)
    return steps


@pytest.mark.parametrize(
    "settings, isl, reason",
    [
        ({"max_running_requests": 2}, 10, "cap"),
        ({"max_mamba_cache_size": 2}, 10, "cap"),
        ({"max_total_num_tokens": 64}, 20, "kv_pages"),
        ({"chunked_prefill_size": 32}, 30, "prefill_budget"),
    ],
)
def test_why_the_head_waits(tiny, settings, isl, reason):
    with boot(tiny, **settings) as engine:
        for i in range(4):
            engine.add_request(ask(str(i), isl))
        steps = drain(engine)
        assert reason in {step.blocked_by for step in steps}
        assert {step.blocked_by for step in steps} <= {reason, ""}
        assert all(step.queued > 0 for step in steps if step.blocked_by)
        ended = [record.request_id for record in engine.pop_finished()]
    assert ended == ["0", "1", "2", "3"]


def test_state_slots_below_the_cap(tiny):
    """Requests that still prefill hold slots too; the pool, not the cap, is then what is full."""
    with boot(tiny, max_running_requests=4, max_mamba_cache_size=4) as engine:
        engine.states._free = engine.states._free[:2]  # two slots held elsewhere, as by checkpoints of a prefix cache
        for i in range(3):
            engine.add_request(ask(str(i), 10))
        assert "state_slots" in {step.blocked_by for step in drain(engine)}


def test_cuts_fall_on_chunks_and_the_budget_holds(tiny):
    with boot(tiny, chunked_prefill_size=48) as engine:
        engine.add_request(ask("long", 200))
        engine.add_request(ask("short", 20))
        sizes = [step.positions for step in drain(engine) if step.kind == "prefill"]
    assert sizes == [48, 48, 48, 48, 28]


def test_a_short_request_shares_the_turn_that_ends_a_long_prompt(tiny):
    with boot(tiny, chunked_prefill_size=64) as engine:
        engine.add_request(ask("long", 100, max_tokens=30))
        engine.add_request(ask("short", 20, max_tokens=2))
        steps = drain(engine)
        assert [s.positions for s in steps if s.kind == "prefill"] == [64, 56]
        assert [r.request_id for r in engine.pop_finished()] == ["short", "long"]


def test_steps_add_up(tiny):
    with boot(tiny, "dspark", 3) as engine:
        for i in range(5):
            engine.add_request(ask(str(i), 12 + 7 * i, max_tokens=9))
        steps = drain(engine)
        records = engine.pop_finished()
    rounds = [s for s in steps if s.kind == "round"]
    assert sum(s.emitted for s in steps) == sum(r.osl for r in records) == 45
    assert sum(s.running for s in rounds) == sum(r.rounds for r in records)
    assert all(s.positions == s.running * 4 for s in rounds)
    assert sum(s.committed for s in rounds) == sum(r.rounds + r.accepted for r in records)
    assert all(s.draft_ms + s.verify_ms + s.commit_ms <= s.step_ms for s in steps)
    assert all(0 < s.kv_usage <= 1 and 0 < s.state_usage <= 1 for s in rounds[:1])
    assert [s.step for s in steps] == list(range(1, len(steps) + 1))
