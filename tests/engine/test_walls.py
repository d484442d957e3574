"""Two walls of one budget: at the same load the plain lane runs out of KV pages and the speculative lane out of state slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends.embedded import EmbeddedBackend
from engine.bench.boundary import hostile_requests
from engine.config import EngineConfig

ROOT = Path(__file__).resolve().parents[2]
BUDGET = {"device_memory": 256 << 20, "mamba_full_memory_ratio": 5.0, "radix_cache": False, "context_length": 4096}


@pytest.mark.slow
def test_each_lane_meets_its_own_wall(shipped, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    usage, waited = {}, {}
    for lane in ("plain", "dspark"):
        with EmbeddedBackend(EngineConfig(lane=lane, **BUDGET)) as engine:
            engine.boot()
            steps = engine.run(hostile_requests(64, 320, 80), 64, 500)["steps"]
        usage[lane] = tuple(max(step[name] for step in steps) for name in ("kv_usage", "state_usage"))
        waited[lane] = {step["blocked_by"] for step in steps} - {"", "prefill_budget"}
    (plain_kv, plain_state), (kv, state) = usage["plain"], usage["dspark"]
    assert plain_kv >= 0.9 and plain_state <= 0.6
    assert state >= 0.9 and kv <= 0.6
    assert waited == {"plain": {"new_token_reserve"}, "dspark": {"cap"}}
