"""Random requests with aborts, retractions and allocations that fail: no page, slot or lock is ever lost."""

from __future__ import annotations

import random

import pytest

from engine.config import SamplingParams
from engine.types import Request

from .conftest import boot

LANES = [("plain", 1), ("dspark", 3), ("mtp", 1)]
SMALL = {"max_running_requests": 5, "max_total_num_tokens": 288, "chunked_prefill_size": 48, "schedule_conservativeness": 0.1, "context_length": 200}
STRATEGIES = [{"radix_cache": False}, {"radix_cache": True}, {"radix_cache": True, "radix_strategy": "extra_buffer"}]


class Faults:
    """Allocation failures at random places of a step, as torch words them."""

    def __init__(self, engine, rng: random.Random, rate: float) -> None:
        self.rng, self.rate, self.count = rng, rate, 0
        for owner, name in ((engine.target, "prefill"), (engine.target, "window"), (engine.target, "commit"), (engine.drafter, "observe"), (engine.drafter, "propose")):
            if owner is not None:
                setattr(owner, name, self.failing(getattr(owner, name)))

    def failing(self, call):
        def maybe(*args, **kwargs):
            if self.rng.random() < self.rate:
                self.count += 1
                raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.")
            return call(*args, **kwargs)

        return maybe


def held(engine) -> tuple[list, int, int]:
    sequences = [*engine.scheduler.prefilling, *engine.scheduler.running]
    cache = engine.cache
    pages = sum(len(s.pages) - s.shared for s in sequences) + (cache.cached_pages if cache else 0)
    slots = sum(1 + len(s.buffers) for s in sequences) + (len(cache.checkpoints) if cache else 0)
    return sequences, pages, slots


def live(engine, rng: random.Random, count: int) -> dict[str, str]:
    """Serve `count` random requests in random order of arrivals, steps and aborts; name -> finish reason."""
    heads = [tuple(rng.randrange(4, 60) for _ in range(64)) for _ in range(4)]
    sent, ends = 0, {}
    while sent < count or engine.has_work:
        what = rng.random()
        if what < 0.3 and sent < count:
            head = rng.choice(heads)[: rng.choice((0, 16, 30, 48, 64))]
            prompt = head + tuple(rng.randrange(4, 60) for _ in range(rng.choice((0, 1, 5, 30, 60, 150))))
            sampling = SamplingParams(max_tokens=rng.choice((0, 1, 3, 20, 60)), ignore_eos=rng.random() < 0.3, temperature=rng.choice((0.0, 0.8)))
            engine.add_request(Request(f"n{sent}", prompt, sampling))
            sent += 1
        elif what < 0.34 and engine._sequences:
            assert engine.abort(rng.choice(list(engine._sequences)))
        else:
            engine.step()
        ends |= {r.request_id: r.finish_reason for r in engine.pop_finished()}
        _, pages, slots = held(engine)
        assert engine.kv.allocator.used_count == pages
        assert engine.states.slots - engine.states.free_count == slots
    return ends


def run(tiny, lane, gamma, settings, count, seed):
    rng = random.Random(seed)
    with boot(tiny, lane, gamma, **SMALL, **settings) as engine:
        faults = Faults(engine, rng, 0.004)
        ends = live(engine, rng, count)
        faults.rate = 0.0
        assert sorted(ends) == sorted(f"n{i}" for i in range(count))
        engine.flush_cache()
        assert engine.kv.allocator.free_count == engine.kv.allocator.pages and engine.states.free_count == engine.states.slots
        assert not engine.kv.allocator._claims and not engine.kv.allocator._claimed.any()
    return {reason[:20] for reason in ends.values()}, faults.count


@pytest.mark.parametrize(
    "lane, gamma, settings",
    [("plain", 1, STRATEGIES[0]), ("plain", 1, STRATEGIES[2]), ("dspark", 3, STRATEGIES[1]), ("dspark", 3, STRATEGIES[2]), ("mtp", 1, STRATEGIES[1]), ("lookup", 2, STRATEGIES[1])],
    ids=["plain-off", "plain-extra", "dspark", "dspark-extra", "mtp", "lookup"],
)
def test_nothing_leaks(tiny, lane, gamma, settings):
    kinds, faults = run(tiny, lane, gamma, settings, 45, seed=1)
    assert {"length", "abort", "error: the prompt is"} <= kinds


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("settings, count", [(STRATEGIES[1], 10_000), (STRATEGIES[2], 1_500)], ids=["no_buffer", "extra_buffer"])
def test_nothing_leaks_after_thousands_of_requests(tiny, settings, count):
    kinds, faults = run(tiny, "dspark", 3, settings, count, seed=2)
    assert faults > 10 and {"stop", "length", "abort", "error: out of memory:"[:20]} <= kinds
