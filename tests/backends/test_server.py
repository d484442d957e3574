"""The life of a boot, on a loopback server that speaks SGLang's protocol and fails to order."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.backends import device_memory, reaper, warm
from engine.backends import server as server_module
from engine.backends.base import EngineFailure
from engine.backends.identity import differs, revision_of
from engine.backends.server_config import ServerConfig
from engine.backends.sglang import SglangBackend
from engine.backends.vllm import PER_POSITION, VllmBackend
from engine.config import ConfigError

FAKE = str(Path(__file__).with_name("fake_server.py"))


@pytest.fixture(autouse=True)
def idle_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_memory, "in_use", lambda: {"gpu0": 0})


@pytest.fixture
def server(tmp_path: Path):
    """Make a boot with a fault; every one of them is ended with the test, and leaves no process."""
    made: list[SglangBackend] = []

    def make(fault: str = "none", lane: str = "plain", **changes: object) -> SglangBackend:
        command = (sys.executable, FAKE, "--port", "{port}", "--node-rank", "{rank}", "--fault", fault)
        limits = {"first_boot_s": 20.0, "later_boot_s": 20.0, "silence_s": 20.0, "warmup_batches": 4}
        config = ServerConfig(command=command, **{**limits, **changes}).boot(lane, 3, {"radix_cache": False})
        made.append(SglangBackend(config, logs=tmp_path / "logs" / f"b{len(made)}"))
        return made[-1]

    yield make
    for one in made:
        groups = one.ranks.groups if one.ranks else []
        one.stop()
        assert not any(reaper.alive(group) for group in groups)


def load(count: int = 4, tokens: int = 9) -> list[dict]:
    return [{**warm.request(f"r{number}", tokens), "prompt_ids": tuple(range(20, 30))} for number in range(count)]


def test_a_boot_is_ready_warm_and_flushed(server) -> None:
    engine = server("slow-first-token", lane="dspark")
    info = engine.boot()
    assert engine.alive and engine.boot_s > 0.5
    # the effective cap of internal_states, not what was asked for; what /server_info lacks comes from the log
    assert info["effective_max_running_requests"] == 3 and info["max_total_num_tokens"] == 4096
    assert info["available_mem_bytes"] == round(1.5 * 2**30)
    assert info["server_version"] == "0.5.23"
    answer = engine.run(load(), 2, 30.0)
    assert [record["finish_reason"] for record in answer["requests"]] == ["length"] * 4
    first = answer["requests"][0]
    # the prefill's token, then four rounds of two: acceptance of this request, not the 9.9 of the server's life
    assert (first["rounds"], first["accepted"], first["drafted"], first["accepted_histogram"]) == (4, 4, 12, [0, 4])
    assert len(first["token_ids"]) == 9 and first["isl"] == 10 and len(first["emissions_s"]) == 5
    # ready, buckets 1, 2 and the cap 3, and one sampled request were before the counters were zeroed
    assert answer["counters"]["served_total"] == 4
    engine.stop()
    assert not engine.alive


def test_acceptance_of_vllm_is_what_its_counters_grew_by(server, tmp_path: Path) -> None:
    """Warm-up and earlier loads are not in it, every engine is, and stamps are not counts."""
    command = (sys.executable, FAKE, "--port", "{port}", "--node-rank", "{rank}")
    config = ServerConfig(command=command, warmup_batches=2).boot("lookup", 3, {"radix_cache": False})
    with VllmBackend(config, logs=tmp_path / "logs" / "vllm") as engine:
        info = engine.boot()
        assert info["server_version"] == "0.32.0" and "max_total_num_tokens" not in info
        assert not engine.flushes, "only a server in development mode can empty its cache"
        for _ in range(2):
            answer = engine.run(load(), 2, 30.0)
            assert answer["acceptance"] == {"rounds": 16, "drafted": 48, "accepted": 16}
        assert [len(record["token_ids"]) for record in answer["requests"]] == [9] * 4
        # positions that do not sum to the accepted drafts: something else was counted
        wrong = {**answer, "counters": {**answer["counters"], f"{PER_POSITION}:0": 3.0}}
        assert engine.acceptance(wrong) is None


def test_flags_are_those_of_the_lane_and_the_settings(server) -> None:
    words = " ".join(SglangBackend.flags.words(server(lane="dspark").config))
    assert words == "--speculative-algorithm DSPARK --speculative-dspark-block-size 3 --disable-radix-cache"
    # DFlash counts its block as the window
    assert "--speculative-dflash-block-size 4" in " ".join(SglangBackend.flags.words(server(lane="dflash").config))
    words = VllmBackend.flags.words(ServerConfig().boot("lookup", 3, {"radix_cache": True, "mode": "eager"}))
    assert words[0] == "--speculative-config" and json.loads(words[1])["num_speculative_tokens"] == 3
    assert words[2:] == ["--enforce-eager", "--enable-prefix-caching"]
    with pytest.raises(ConfigError, match="sglang has no flag for markov_head_type"):
        SglangBackend.flags.words(ServerConfig().boot("plain", None, {"markov_head_type": "rnn"}))


@pytest.mark.parametrize(
    ("fault", "changes", "status", "kind", "says"),
    [
        ("dies", {}, "crash", None, "rank 0 ended with code 3"),
        ("oom-boot", {}, "oom", "oom_boot", "Please try to increase --mem-fraction-static"),
        ("hang", {"silence_s": 0.4}, "timeout", "hang", "no log line for"),
        ("talks", {"first_boot_s": 0.5}, "timeout", "hang", "no token within"),
        ("wrong-port", {"first_boot_s": 0.8}, "crash", "port", "told to listen on"),
        ("rank-dies", {"nodes": 2}, "crash", "collective", "NCCL error"),
    ],
)
def test_a_boot_that_fails_is_a_classified_result(server, fault, changes, status, kind, says) -> None:
    engine = server(fault, **changes)
    with pytest.raises(EngineFailure) as caught:
        engine.boot()
        # both ranks may be up before the second one dies
        time.sleep(0.5)
        engine.run(load(), 2, 10.0)
    assert (caught.value.status, caught.value.kind) == (status, kind)
    assert says in caught.value.note
    assert not engine.alive


def test_settings_that_no_boot_can_serve_are_the_callers_fault(server) -> None:
    with pytest.raises(ConfigError, match="weights_missing: OSError: /models/none"):
        server("no-weights").boot()
    with pytest.raises(ConfigError, match="bad_flag: .*unrecognized arguments: --no-such-flag"):
        server(flags=("--no-such-flag",)).boot()
    with pytest.raises(ConfigError, match="measure.server.command: /no/such/program"):
        server(prefix=("/no/such/program",)).boot()
    with pytest.raises(ConfigError, match=r"asks for \{model\}"):
        server(flags=("--model-path", "{model}")).boot()


@pytest.mark.parametrize(("fault", "status", "kind"), [("oom-run", "oom", "oom_run"), ("hang-run", "timeout", "hang")])
def test_a_load_that_fails_ends_the_server(server, fault: str, status: str, kind: str) -> None:
    engine = server(fault, warmup_batches=1)
    engine.boot()
    with pytest.raises(EngineFailure) as caught:
        for _ in range(4):
            engine.run(load(), 2, 0.5)
    assert (caught.value.status, caught.value.kind) == (status, kind)
    assert not engine.alive


def test_a_device_in_use_is_refused() -> None:
    readings = iter([{"gpu0": 40 << 30}, {"gpu0": 0}])
    assert device_memory.wait_idle(None, 5.0, lambda: next(readings), pause_s=0.0) is None
    with pytest.raises(EngineFailure, match=r"device in use, not booted: gpu1 holds 40\.0 GiB"):
        device_memory.wait_idle(None, 0.0, lambda: {"gpu0": 0, "gpu1": 40 << 30})
    assert "not checked" in device_memory.wait_idle(None, 0.0, lambda: None)
    # what another one does with devices that this server may not use is no hindrance
    mine = device_memory.visible({"CUDA_VISIBLE_DEVICES": "0,2"})
    assert device_memory.wait_idle(mine, 0.0, lambda: {"gpu0": 0, "gpu1": 40 << 30}) is None
    assert device_memory.visible({"CUDA_VISIBLE_DEVICES": "GPU-3f"}) is None is device_memory.visible({})
    assert device_memory.nvidia("12\n40960\n") == {"gpu0": 12 << 20, "gpu1": 40 << 30}
    assert device_memory.amd('{"card0": {"VRAM Total Used Memory (B)": "285"}, "system": {}}') == {"card0": 285}


def test_an_earlier_rank_that_still_runs_is_not_booted_beside(server, monkeypatch: pytest.MonkeyPatch) -> None:
    first = server()
    first.boot()
    monkeypatch.setattr(server_module, "LEFT_OVER_LIMIT_S", 0.2)
    second = server()
    with pytest.raises(EngineFailure, match="of an earlier boot still run"):
        second.boot()
    first.stop()
    second.boot()


ORPHANS = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what a shell runs in the background
from pathlib import Path
from engine.backends.launch import Launch, Ranks
words = (sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])")
ranks = Ranks(Launch(words, stop_command=("touch", sys.argv[1] + "/stopped-{name}")), {"name": "box"}, Path(sys.argv[1]))
print(ranks.groups[0], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_rank_outlives_a_measuring_process_that_is_killed(tmp_path: Path, number: signal.Signals) -> None:
    """Grandchildren included, and the container is stopped by its name."""
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS, str(tmp_path)], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
    group = int(parent.stdout.readline())
    assert reaper.alive(group)
    parent.send_signal(number)
    parent.wait(10)
    end = time.monotonic() + 10
    while reaper.alive(group) and time.monotonic() < end:
        time.sleep(0.02)
    assert not reaper.alive(group)
    assert (tmp_path / "stopped-box").exists()


def test_a_rank_that_ignores_sigterm_is_killed() -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    reaper.end_group(process.pid, grace_s=0.1)
    assert process.wait(5) == -signal.SIGKILL


def test_what_a_cell_was_measured_on_is_compared_where_it_is_known() -> None:
    first = {"server_version": "0.5.22", "image_digest": None, "weights_revision": "r1"}
    assert differs([first], {**first, "image_digest": "sha256:1"}) is None
    assert differs([{}, first], {**first, "server_version": "0.5.23"}) == "server_version was 0.5.22 and is 0.5.23"
    assert revision_of("/cache/models--a--b/snapshots/3f2a") == "3f2a"
    assert revision_of("/models/plain") is None is revision_of(None)
