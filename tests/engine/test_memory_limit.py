"""The wall is real: a child process under RLIMIT_DATA boots, runs out in a hostile load, says how much was missing, and goes on."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backends.embedded import EmbeddedBackend, EngineFailure
from engine.bench.boundary import hostile_requests, largest_fraction, search_step
from engine.config import EngineConfig
from engine.generate import main
from engine.memory.limit import MemoryExhausted, ProcessMemory, allocation_failure, said_bytes

ROOT = Path(__file__).resolve().parents[2]
MB = 1 << 20


@pytest.fixture
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_a_hostile_prompt_runs_out_and_the_engine_goes_on(tiny, importable):
    config = EngineConfig(
        weights=tiny, lane="dspark", block_size=3, device_memory=32 * MB, mem_fraction_static=0.96, context_length=1024,
        chunked_prefill_size=1024, max_running_requests=4,
    )
    small, hostile = hostile_requests(2, 20, 6, vocabulary=64), hostile_requests(1, 1000, 6, vocabulary=64)
    with EmbeddedBackend(config) as engine:
        info = engine.boot()
        assert info["memory_limit"] == "rlimit"
        slack = 0.04 * 32 * MB
        # What the interpreter itself takes and gives back between the wall and this reading goes by arenas of up to a MiB: a bound in MiB,
        # whatever the budget (0.5 MiB off here, 0.8 elsewhere).
        assert abs(info["available_mem_bytes"] - slack) < 2 * MB
        answer = engine.run(small, 2, 60)
        assert [r["finish_reason"] for r in answer["requests"]] == ["length"] * 2
        assert 0 < answer["activation_peak_bytes"] < slack + MB
        with pytest.raises(EngineFailure, match=r"out of memory: asked \d+ bytes, \d+ free") as failure:
            engine.run(hostile, 1, 60)
        assert failure.value.status == "oom"
        asked, free = map(int, re.findall(r"\d+", failure.value.note))
        assert asked > 0 and free < info["available_mem_bytes"]
        again = engine.run(small, 2, 60)
        assert [r["token_ids"] for r in again["requests"]] == [r["token_ids"] for r in answer["requests"]]


def test_a_native_abort_is_oom_only_under_a_budget(tiny, importable, monkeypatch):
    monkeypatch.setattr(EmbeddedBackend, "worker", (sys.executable, "-c", "import os; input(); os.abort()"))
    for budget, status in ((MB, "oom"), (0, "crash")):
        engine = EmbeddedBackend(EngineConfig(weights=tiny, device_memory=budget))
        with engine, pytest.raises(EngineFailure, match="SIGABRT") as failure:
            engine.boot()
        assert failure.value.status == status


def test_how_libraries_say_it():
    torch_says = RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 512 bytes. Error code 12")
    fault = allocation_failure(torch_says, ProcessMemory())
    assert isinstance(fault, MemoryExhausted) and (fault.asked_bytes, fault.free_bytes) == (512, None)
    assert allocation_failure(MemoryError()) is not None and allocation_failure(RuntimeError("std::bad_alloc")) is not None
    assert allocation_failure(RuntimeError("shape mismatch")) is None
    assert allocation_failure(fault) is fault


@given(st.none() | st.integers(0, 1 << 48), st.none() | st.integers(0, 1 << 48))
def test_bytes_that_were_said_can_be_read(asked: int | None, free: int | None):
    assert said_bytes(f"error: {MemoryExhausted(asked, free)}") == (asked, free)


@pytest.mark.parametrize(
    ("words", "asked", "free"),
    [
        ("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB of which 512.00 MiB is free.", 5 << 29, 1 << 29),
        ("CUDA out of memory. Tried to allocate 20.00 MiB", 20 << 20, None),
        ("engine process killed by SIGABRT under --device-memory 100", None, None),
    ],
)
def test_bytes_that_a_library_said_can_be_read(words: str, asked: int | None, free: int | None):
    assert said_bytes(words) == (asked, free)


def test_the_step_of_a_search():
    assert search_step([100, 100, 100, 100, 101], 1000) == 0.01
    assert search_step([100, 140], 1000) == pytest.approx(0.08)


@pytest.mark.parametrize("budget", [0, 32 * MB])
def test_freed_memory_is_returned_only_where_a_wall_stands(tiny, importable, budget):
    """Page faults of a prompt after the same prompt: none of its temporaries is new unless each was given back."""
    prompt = "[4 + i % 50 for i in range(512)]"
    script = f"""
from pathlib import Path
import resource
from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.memory.limit import ProcessMemory
from engine.types import Request
config = EngineConfig(weights=Path({str(tiny)!r}), lane="plain", device_memory={budget}, mem_fraction_static=0.5, max_running_requests=2,
                      max_total_num_tokens=1024, context_length=1024, radix_cache=False)
engine = Engine(config, ProcessMemory())
for name in "abc":
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    engine.generate([Request(name, tuple({prompt}), SamplingParams(max_tokens=1))])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    faults = int(found.stdout.split()[-1])
    assert faults > 1000 if budget else faults < 300


class Wall:
    """A backend whose boots serve up to a fraction."""

    def __init__(self, config) -> None:
        self.fraction = config.mem_fraction_static

    def boot(self):
        if self.fraction > 0.97:
            raise EngineFailure("oom", "asked 1 bytes, 0 free")

    def run(self, *_):
        if self.fraction > 0.914:
            raise EngineFailure("oom", "asked 2 bytes, 1 free")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_bisection_stands_on_multiples_of_its_step():
    found, tried = largest_fraction(EngineConfig(), [], 1, 0.8, 1.0, 0.01, Wall)
    assert found == 0.91 and len(tried) == 4
    assert {why.split(":")[0] for _, why in tried} == {"served", "oom in the load"}
    assert largest_fraction(EngineConfig(), [], 1, 0.8, 1.0, 0.04, Wall)[0] == 0.88


def test_generate_boots_in_a_child(tiny, shipped, tmp_path, importable, capfd):
    prompt = tmp_path / "p.txt"
    prompt.write_text("def add(a, b):\n", "utf8")
    before = os.environ.get("OMP_NUM_THREADS")
    ask = ["--prompt-file", str(prompt), "--max-tokens", "4", "--max-running-requests", "4", "--disable-radix-cache", "--json"]
    assert main([*ask, "--device-memory", "96M"]) == 0
    limited = capfd.readouterr().out
    assert main(ask) == 0
    assert capfd.readouterr().out == limited and os.environ.get("OMP_NUM_THREADS") == before
    assert main([*ask, "--device-memory", "16M"]) == 2
    assert "--mem-fraction-static 0.88: weights of" in capfd.readouterr().err
