"""What holds in every execution mode: retraction and prefix cache change when tokens come, never which; flags reach the engine."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from engine import generate
from engine.config import ConfigError
from engine.model.clock import OperatorClock
from engine.model.fused.compiler import COMPILERS

from .conftest import boot, prompts, requests
from .test_retraction import TIGHT, outcome

MODES = ["graph"] + (["fused"] if any(map(shutil.which, COMPILERS)) else [])


@pytest.fixture(autouse=True)
def kept_builds(request, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(request.config.cache.mkdir("soundings-fused")))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lane, gamma", [("plain", 1), ("dspark", 3)])
def test_retracted_and_cached_requests_keep_text_and_counts(tiny, mode, lane, gamma):
    ask = lambda: requests(prompts(5, shortest=8), max_tokens=60, ignore_eos=False)
    with boot(tiny, lane, gamma, mode=mode) as engine:
        expected = outcome(engine.generate(ask()))
    with boot(tiny, lane, gamma, mode=mode, **TIGHT, radix_cache=True, max_mamba_cache_size=18) as engine:
        for _ in range(2):  # the second time prompts come from the cache
            records = engine.generate(ask())
            assert outcome(records) == expected
            assert sum(record.retractions for record in records) > 0


@pytest.mark.parametrize("mode", ["eager", *MODES])
def test_an_instrumented_boot_says_where_a_step_went(tiny, mode):
    with boot(tiny, "dspark", 3, mode=mode, instrument=True) as engine:
        engine.add_request(requests(prompts(1), max_tokens=8)[0])
        steps = []
        while engine.has_work:
            steps.append(engine.step())
    rounds = [step for step in steps if step.kind == "round"]
    for step in rounds:
        assert {"linear", "kda", "attention", "elementwise"} <= {kind for kind, ms in step.operator_ms.items() if ms > 0} or mode == "graph"
        assert 0 < sum(step.operator_ms.values()) <= step.step_ms
    with boot(tiny, mode=mode) as engine:
        engine.add_request(requests(prompts(1), max_tokens=2)[0])
        assert engine.step().operator_ms is None


def test_an_operator_inside_another_is_booked_once():
    clock = OperatorClock()
    project = clock.wrap("linear", lambda weight: lambda x: time.sleep(0.02))("weight")
    step = clock.wrap("markov_greedy", lambda: (project("x"), clock.wrap("l2_norm", lambda: time.sleep(0.01))(), time.sleep(0.005)))
    start = time.perf_counter()
    step()
    step()
    whole = 1e3 * (time.perf_counter() - start)
    spent = clock.take()
    assert sum(spent.values()) <= whole
    assert spent["linear"] >= 40 and spent["kda"] >= 20 and 10 <= spent["sampling"] <= whole - 60
    assert clock.take() == {"linear": 0, "kda": 0, "sampling": 0}


@pytest.mark.parametrize("settings, said", [
    ({"mode": "jit"}, "--mode jit: unknown mode"),
    ({"fused_verify": "odd"}, "--fused-verify odd: unknown path"),
    ({"cuda_graph_max_bs": -1}, "--cuda-graph-max-bs -1: must be 0"),
    ({"model": "random-9b"}, "--model random-9b: unknown model"),
])
def test_unknown_settings_are_refused(tiny, settings, said):
    with pytest.raises(ConfigError, match=said):
        boot(tiny, **settings)


@pytest.mark.parametrize("mode", MODES)
def test_generate_takes_the_mode(shipped, tmp_path, capsys, mode):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Question: Tom has 12 apples and buys 7 more. How many apples does he have?\nAnswer:", "utf8")
    flags = ["--prompt-file", str(prompt), "--max-tokens", "8", "--json", "--max-running-requests", "2", "--mode", mode]
    outputs = []
    for lane in ("plain", "dspark"):
        assert generate.main([*flags, "--lane", lane]) == 0
        outputs.append(json.loads(capsys.readouterr().out)["token_ids"])
    assert outputs[0] == outputs[1] and len(outputs[0]) == 8
