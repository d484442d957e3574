"""Which class a dead server gets, and that the line which decided is the one that is shown."""

from __future__ import annotations

import json
import signal

import pytest

from engine.backends.failure import KINDS, SIGNATURES, classify, table
from engine.backends.step_latency import chunk_gaps_ms, decide, derived_ms

SERVERS = sorted(path.stem for path in SIGNATURES.glob("*.json") if path.stem != "common")

DECIDING = [
    ("sglang", "oom_boot", False, "[TP0] RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. self.server_args.mem_fraction_static=0.3"),
    ("sglang", "oom_boot", False, "RuntimeError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static=0.4"),
    ("sglang", "oom_run", True, "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 287.98 GiB"),
    ("vllm", "oom_boot", False, "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`"),
    ("vllm", "oom_boot", False, "ValueError: Free memory on device cuda:0 (3.2/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB)"),
    ("vllm", "oom_run", True, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB"),
    ("sglang", "host_oom", True, "RuntimeError: [enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"),
    ("sglang", "illegal_access", True, "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"),
    ("sglang", "illegal_access", True, "Memory access fault by GPU node-4 (Agent handle: 0x55) on address 0x7f. Reason: Unknown."),
    ("vllm", "collective", True, "[rank3]:[E] [PG ID 2] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE)"),
    ("sglang", "collective", False, "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms"),
    ("sglang", "hang", True, "[2026-11-30 10:00:00 TP0] Watchdog timeout (self.watchdog_timeout=300)"),
    ("sglang", "hang", True, "[2026-11-30 10:00:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300.0, self.soft=False)"),
    ("sglang", "port", False, "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use"),
    ("vllm", "bad_flag", False, "vllm: error: unrecognized arguments: --max-num-seq 4"),
    ("sglang", "bad_flag", False, "launch_server.py: error: argument --page-size: invalid int value: 'x'"),
    ("sglang", "weights_missing", False, "OSError: /models/none is not a local folder and is not a valid model identifier listed on the hub"),
    ("vllm", "weights_missing", False, "ValueError: Invalid repository ID or local directory specified: '/models/none'."),
]


@pytest.mark.parametrize(("server", "kind", "booted", "line"), DECIDING)
def test_each_class_by_its_line(server: str, kind: str, booted: bool, line: str) -> None:
    log = ["$ server", "[TP0] Load weight begin. avail mem=10 GB", line, "Traceback (most recent call last):", "Killed"]
    found = classify(server, {0: 1}, log, booted)
    assert (found.kind, found.line) == (kind, " ".join(line.split())[:239] + ("…" if len(line) > 240 else ""))
    assert found.status == {"oom_boot": "oom", "oom_run": "oom", "host_oom": "oom", "hang": "timeout"}.get(kind, "crash")


def test_the_cause_decides_and_not_what_it_caused() -> None:
    """One rank runs out of memory; the others then wait for it in a collective, and say so first."""
    log = ["[rank1] NCCL error: remote process exited", "[rank0] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB"]
    assert classify("sglang", {1: 1, 0: 1}, log, booted=True).kind == "oom_run"
    assert classify("sglang", {1: 1, 0: 1}, log[:1], booted=True).kind == "collective"


def test_a_process_that_the_kernel_killed() -> None:
    found = classify("vllm", {1: -signal.SIGKILL, 0: None}, ["Loading safetensors"], booted=False)
    assert found.kind == "host_oom" and found.line.startswith("rank 1")
    assert classify("vllm", {0: 137}, [], booted=False).kind == "host_oom"


def test_an_unknown_death_shows_its_last_line() -> None:
    found = classify("sglang", {0: -signal.SIGSEGV}, ["one", "two", ""], booted=True)
    assert (found.kind, found.line) == (None, "rank 0 killed by SIGSEGV: two")


@pytest.mark.parametrize("name", [*SERVERS, "common"])
def test_every_table_has_a_version_and_known_classes(name: str) -> None:
    document = json.loads((SIGNATURES / f"{name}.json").read_text("utf8"))
    assert document["server"] == name and document["version"] >= 1 and document["read_from"]
    assert {one.kind for one in table(name)[1]} <= set(KINDS)


def record(stamps: list[float], rounds: int | None = None) -> dict:
    return {"emissions_s": stamps, "rounds": rounds}


def test_steps_by_chunks_where_chunks_are_steps() -> None:
    assert chunk_gaps_ms([record([0.0, 0.01, 0.03], 2), record([0.5])]) == pytest.approx([10.0, 20.0])
    # four rounds came in two chunks: their gaps are no steps
    assert chunk_gaps_ms([record([0.0, 0.02, 0.04], 4)]) == []


@pytest.mark.parametrize(
    ("chunks", "log", "derived", "step", "source", "warns"),
    [
        ([10.0, 10.2], [10.1], 30.0, 10.1, "chunks", "derived disagrees"),
        ([10.0], [10.2], 10.1, 10.0, "chunks", None),
        ([5.0], [10.0], 10.1, 10.0, "log", "chunks disagrees"),
        ([], [10.0], 12.0, 10.0, "log", "no two agree"),
        ([], [], 12.0, 12.0, "derived", "nothing to check it against"),
        ([], [], None, None, None, "neither steps"),
    ],
)
def test_two_readings_agree_or_a_warning_stands(chunks, log, derived, step, source, warns) -> None:
    found = decide(chunks, log, derived)
    assert found.source == source and found.step_ms == (step if step is None else pytest.approx(step))
    assert (warns in found.warning) if warns else found.warning is None


def test_a_step_is_derived_only_from_what_is_known() -> None:
    assert derived_ms(2.5, 4.0) == 10.0
    assert derived_ms(None, 4.0) is None is derived_ms(2.5, None)


@pytest.mark.parametrize(
    "line",
    [
        # both are printed by servers that go on serving
        "[TP0] Scheduler watchdog timeout (self.watchdog_timeout=300.0, self.soft=True)",
        "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. pre_model_load_memory=1.0, local_gpu_memory=2.0",
        "[TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 400, #new_token_ratio: 0.3 -> 0.6",
        "server_args=ServerArgs(watchdog_timeout=300, mem_fraction_static=0.9)",
    ],
)
def test_a_warning_is_no_cause_of_death(line: str) -> None:
    assert classify("sglang", {0: 1}, [line, "last word"], booted=True).kind is None
