"""Nothing leaks: pages and slots come back whatever order requests arrive, end or are aborted in."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.config import SamplingParams
from engine.memory.kv_pool import PageAllocator
from engine.memory.state_pool import StatePool
from engine.types import Request

from .conftest import TINY, boot


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=60))
@settings(max_examples=60)
def test_pages_are_owned_by_one_request(actions):
    pool, held = PageAllocator(24), []
    for take, number in actions:
        if take:
            pages = pool.allocate(number)
            assert (pages is None) == (number > 24 - sum(map(len, held)))
            if pages is not None:
                assert len(set(pages)) == number
                held.append(pages)
        elif held:
            pool.release(held.pop(number % len(held)))
        everything = [page for pages in held for page in pages]
        assert len(set(everything)) == len(everything) == pool.used_count
    for pages in held:
        pool.release(pages)
    assert pool.free_count == 24


def test_a_run_is_preferred_and_fragments_still_serve():
    pool = PageAllocator(10)
    first, second, third = pool.allocate(3), pool.allocate(3), pool.allocate(2)
    pool.release(second)
    assert pool.allocate(3) == [3, 4, 5]
    pool.release(first)
    assert pool.allocate(5) == [0, 1, 2, 8, 9]
    pool.release(third)
    with pytest.raises(RuntimeError, match="released twice"):
        pool.release(third)


@given(st.lists(st.one_of(st.none(), st.integers(0, 7)), max_size=60))
def test_state_slots_are_handed_out_from_the_lowest(acts):
    pool = StatePool(TINY, 8, 1, 0)
    held = []
    for act in acts:
        if act is None:
            free = sorted(set(range(8)) - set(held))
            assert pool.take() == (free[0] if free else None)
            held += free[:1]
        elif act in held:
            held.remove(act)
            pool.release(act)
        else:
            with pytest.raises(RuntimeError, match="released twice"):
                pool.release(act)
    assert pool.free_count == 8 - len(held)


@pytest.fixture(scope="module", params=[("plain", 1), ("dspark", 3), ("mtp", 1)], ids=["plain", "dspark", "mtp"])
def small_engine(request, tiny):
    lane, gamma = request.param
    with boot(tiny, lane, gamma, max_running_requests=3, max_total_num_tokens=192, chunked_prefill_size=32) as engine:
        yield engine


actions = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 70), st.integers(0, 12)),
        st.tuples(st.just("step"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("abort"), st.integers(0, 20), st.just(0)),
    ),
    max_size=12,
)


@given(actions)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_everything_comes_back(small_engine, script):
    engine, names = small_engine, []
    for what, number, tokens in script:
        if what == "add":
            names.append(f"n{len(names)}")
            engine.add_request(Request(names[-1], (7,) * number, SamplingParams(max_tokens=tokens, temperature=0.5 * (number % 2))))
        elif what == "step":
            for _ in range(number):
                engine.step()
        elif names:
            engine.abort(names[number % len(names)])
        held = engine.scheduler.prefilling + engine.scheduler.running
        assert engine.kv.allocator.used_count == sum(len(s.pages) for s in held)
        assert engine.states.slots - engine.states.free_count == len(held)
        assert all(not s.pages for s in engine.scheduler.waiting)
    done = engine.pop_finished()
    while engine.has_work:
        engine.step()
        done += engine.pop_finished()
    assert sorted(r.request_id for r in done) == sorted(names)
    assert engine.kv.usage == 0 and engine.states.usage == 0
