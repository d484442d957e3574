"""Replaying a window's inputs instead of keeping its states: less memory, the same bits."""

from __future__ import annotations

import pytest
import torch

from engine.config import ConfigError

from .conftest import boot, prompts, requests


def served(tiny, lane, gamma, **settings):
    wanted = requests(prompts(5))
    with boot(tiny, lane, gamma, **settings) as engine:
        records = engine.generate(wanted)
        states = engine.states.temporal.clone()
        info = engine.server_info()
    return [(r.token_ids, r.accepted_histogram) for r in records], states, info


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("lane, gamma, settings", [("dspark", 5, {}), ("mtp", 1, {}), ("lookup", 3, {})])
def test_replay_gives_the_bits_of_kept_states(tiny, lane, gamma, settings, dtype):
    kept, states, info = served(tiny, lane, gamma, mamba_ssm_dtype=dtype, **settings)
    replayed, again, lean = served(tiny, lane, gamma, mamba_ssm_dtype=dtype, enable_linear_replayssm_spec=True, **settings)
    assert replayed == kept
    assert torch.equal(again.view(torch.uint8), states.view(torch.uint8))
    # three KDA layers share one layer's window
    assert lean["state_bytes_per_window"] * 3 == info["state_bytes_per_window"] > 0
    assert lean["state_pool_bytes"] < info["state_pool_bytes"]


@pytest.mark.parametrize("settings", [{"lane": "plain"}, {"lane": "dspark", "mode": "fused"}])
def test_replay_is_refused_where_it_means_nothing(tiny, settings):
    with pytest.raises(ConfigError, match="--enable-linear-replayssm-spec"):
        boot(tiny, block_size=3, enable_linear_replayssm_spec=True, **settings)
