"""Budget arithmetic: where every byte goes, what sets the cap, and what is refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config import ConfigError, EngineConfig, parse_size
from engine.memory.budget import Costs, rest_bytes, size_pools

MB = 1 << 20
PLAIN = Costs(weights=16 * MB, slot=420_864, window=0, token=2048)
SPECULATIVE = Costs(weights=19 * MB, slot=421_376, window=4 * 393_216, token=3072)
budgets = st.fixed_dictionaries(
    {
        "device_memory": st.integers(60 * MB, 2048 * MB),
        "mem_fraction_static": st.floats(0.5, 1.0),
        "mamba_full_memory_ratio": st.floats(0.1, 5.0),
        "radix_cache": st.booleans(),
        "radix_strategy": st.sampled_from(["no_buffer", "extra_buffer"]),
        "max_running_requests": st.none() | st.integers(1, 100),
        "max_mamba_cache_size": st.none() | st.integers(5, 100),
        "page_size": st.sampled_from([1, 16, 64]),
    }
)


@given(budgets, st.sampled_from([PLAIN, SPECULATIVE]))
def test_pools_stay_inside_the_budget_and_leave_less_than_a_page_and_a_slot(settings, costs):
    config = EngineConfig(**settings)
    try:
        pools = size_pools(config, costs)
    except ConfigError as fault:
        assert "--device-memory" in str(fault)
        return
    rest = rest_bytes(config, costs)
    assert pools.bytes <= rest
    assert pools.tokens % config.page_size == 0
    assert pools.cap * pools.slots_per_request <= pools.state_slots
    if pools.cap_reason != "kv_tokens":
        rows = min(pools.cap, pools.state_slots // pools.slots_per_request)
        spent = (pools.state_slots + 1) * costs.slot + (rows + 1) * costs.window + pools.tokens * costs.token
        if config.max_running_requests is not None or not costs.window:
            assert rest - spent < config.page_size * costs.token + (costs.slot if costs.window else 1)


def test_slots_per_request_one_three_five():
    fixed = {"max_mamba_cache_size": 570}
    caps = [
        size_pools(EngineConfig(max_running_requests=1000, **fixed, **more), PLAIN).cap
        for more in ({"radix_cache": False}, {"radix_strategy": "no_buffer"}, {"radix_strategy": "extra_buffer"})
    ]
    assert caps == [570, 190, 114]


def test_an_unset_cap_is_48_in_a_speculative_lane_and_is_said():
    pools = size_pools(EngineConfig(device_memory=1024 * MB, radix_cache=False), SPECULATIVE)
    assert (pools.cap, pools.cap_reason, pools.state_slots) == (48, "default", 48)
    assert "becomes 48" in pools.lines[0]
    plain = size_pools(EngineConfig(device_memory=1024 * MB, radix_cache=False), PLAIN)
    assert plain.cap == plain.state_slots > 48 and plain.cap_reason == "state_slots"


def test_the_cap_trades_against_kv_tokens():
    sizes = [size_pools(EngineConfig(device_memory=512 * MB, radix_cache=False, max_running_requests=n), SPECULATIVE) for n in (8, 16, 48)]
    assert [p.cap for p in sizes] == [8, 16, 48]
    for fewer, more in zip(sizes, sizes[1:]):
        freed = (more.cap - fewer.cap) * (SPECULATIVE.slot + SPECULATIVE.window)
        assert abs((fewer.tokens - more.tokens) * SPECULATIVE.token - freed) < 32 * SPECULATIVE.token


@pytest.mark.parametrize(
    "settings, costs, says",
    [
        ({"device_memory": 20 * MB, "mem_fraction_static": 0.5}, PLAIN, "--mem-fraction-static 0.5: weights of .* raise it above 0.800"),
        ({"device_memory": 10 * MB}, PLAIN, "raise --device-memory"),
        ({"device_memory": 24 * MB}, SPECULATIVE, "the state pool would have"),
        ({"device_memory": 64 * MB, "max_mamba_cache_size": 200}, PLAIN, "200 state slots leave room for 0 KV tokens"),
        ({"max_mamba_cache_size": 2}, PLAIN, "a request needs 3; raise --max-mamba-cache-size"),
    ],
)
def test_a_budget_that_holds_nothing_is_refused(settings, costs, says):
    with pytest.raises(ConfigError, match=says):
        size_pools(EngineConfig(**settings), costs)


def test_sizes():
    assert [parse_size(text) for text in ("256M", "1G", "4096", "64k", "2GiB", 77)] == [256 * MB, 1 << 30, 4096, 65536, 2 << 30, 77]
    for text in ("", "1.5G", "-1", "many", "12T"):
        with pytest.raises(ConfigError, match="--device-memory"):
            parse_size(text)
