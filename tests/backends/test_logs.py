"""Capacities and step latencies out of logs that were reconstructed from the servers' source (tests/data/boot_logs)."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.backends import sglang_log, vllm_log
from engine.backends.failure import classify

LOGS = Path(__file__).resolve().parents[1] / "data" / "boot_logs"


def lines(name: str) -> list[str]:
    return (LOGS / f"{name}.log").read_text("utf8").splitlines()


def test_what_an_sglang_boot_came_to() -> None:
    found = sglang_log.capacities(lines("sglang-dspark"))
    notes = found.pop("notes")
    assert found == {
        "max_total_num_tokens": 1174618,
        "effective_max_running_requests": 48,
        "available_mem_bytes": round(12.81 * 2**30),
        "state_slots": 240,
    }
    assert [note.split(" ")[0] for note in notes] == ["DSpark", "Max", "max_running_requests"]
    assert all(not note.startswith("[") for note in notes)


def test_a_boot_on_processors_words_its_memory_otherwise() -> None:
    found = sglang_log.capacities(lines("sglang-cpu"))
    assert found == {"max_total_num_tokens": 20480, "effective_max_running_requests": 32, "available_mem_bytes": round(7.25 * 2**30)}


def test_a_capacity_that_is_not_printed_is_missing() -> None:
    """Not zero: a zero would be a capacity."""
    cut = [line for line in lines("sglang-dspark") if "max_total_num_tokens=" not in line and "Mamba Cache" not in line]
    assert set(sglang_log.capacities(cut)) == {"notes"}
    assert sglang_log.capacities([]) == {} == vllm_log.capacities([])


def test_steps_out_of_decode_lines() -> None:
    # 4 requests x 2.5 tokens a round at 400 tokens a second; the idle line says nothing
    assert sglang_log.step_ms(lines("sglang-dspark")) == pytest.approx([25.0, 24.0])
    assert sglang_log.step_ms(lines("sglang-cpu")) == pytest.approx([40.0])


def test_what_a_vllm_boot_came_to() -> None:
    found = vllm_log.capacities(lines("vllm-mtp"))
    assert found["max_total_num_tokens"] == 34952
    assert found["server_version"] == "0.32.0"
    assert found["notes"][0] == "Available KV cache memory: 4.80 GiB"
    assert vllm_log.step_ms(lines("vllm-mtp")) == pytest.approx([35.0])


@pytest.mark.parametrize(("server", "name"), [("sglang", "sglang-dspark"), ("sglang", "sglang-cpu"), ("vllm", "vllm-mtp")])
def test_a_healthy_log_holds_no_failure(server: str, name: str) -> None:
    found = classify(server, {0: 1}, lines(name), booted=True)
    assert found.kind is None and found.status == "crash"
