"""llama.cpp: its flags, what it says about itself, and its log. Log and metrics recorded from a real server."""

from __future__ import annotations

import pytest

from engine.backends import backend, failure
from engine.backends.llamacpp import FLAGS, LlamaCppBackend
from engine.backends.server_config import ServerConfig
from engine.config import ConfigError
from tests.loopback.server import Loopback, document, plain

LOG = """\
1.23.871.086 I slot print_timing: id  2 | task 179 | prompt eval time =      52.35 ms /     1 tokens (   52.35 ms per token,    19.10 tokens per second)
1.23.871.124 I slot print_timing: id  2 | task 179 |        eval time =    6730.45 ms /    40 tokens (  172.58 ms per token,     5.79 tokens per second)
1.23.871.132 I slot print_timing: id  2 | task 179 |       total time =    6782.80 ms /    41 tokens
1.23.871.140 I slot print_timing: id  2 | task 179 |    graphs reused =        130
1.23.871.153 I slot print_timing: id  2 | task 179 | draft acceptance = 0.23077 (    6 accepted /    26 generated), mean len =  1.86
1.23.957.977 I slot print_timing: id  3 | task 181 |        eval time =    6506.75 ms /    40 tokens (  166.84 ms per token,     5.99 tokens per second)
""".splitlines()

PROPS = {"default_generation_settings": {"n_ctx": 1024}, "total_slots": 4, "build_info": "b11434-abc1234"}
METRICS = """\
# TYPE llamacpp:spec_decode_num_drafts_total counter
llamacpp:spec_decode_num_drafts_total 65
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 27
llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="1"} 17
"""


def words(lane: str = "plain", block_size: int | None = None, **knobs: object) -> list[str]:
    return FLAGS.words(ServerConfig(lane=lane, block_size=block_size, knobs=tuple(knobs.items())))


def test_settings_become_its_flags():
    assert words(threads=2, chunked_prefill_size=64) == ["--threads", "2", "--batch-size", "64", "--ubatch-size", "64"]
    assert words("lookup", 4, max_running_requests=8) == [
        *("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", "4"),
        *("--parallel", "8"),
    ]
    assert words("dspark", 3) == ["--spec-type", "draft-dspark", "--spec-draft-n-max", "3"]
    assert words(radix_cache=True) == [], "asked for with each request"
    with pytest.raises(ConfigError, match=r"llamacpp has no flag for schedule_conservativeness; it has: batch_size"):
        words(schedule_conservativeness=0.5)


def test_the_prefix_cache_is_asked_for_with_each_request_and_then_needs_a_nonce():
    off, on = LlamaCppBackend(ServerConfig()), LlamaCppBackend(ServerConfig(knobs=(("radix_cache", True),)))
    assert (off.dialect().cache_prompt, off.flushes, off.flush()) == (False, True, True)
    assert (on.dialect().cache_prompt, on.flushes) == (True, False)
    assert LlamaCppBackend(ServerConfig(lane="lookup", block_size=2)).dialect().drafts


def test_slots_and_context_are_read_and_an_unknown_build_is_not_a_version():
    def info(props: dict) -> dict:
        with Loopback({"/props": lambda body, server: document(props), "/metrics": lambda body, server: plain(METRICS)}) as server:
            found = LlamaCppBackend(ServerConfig())
            found.url = server.url
            counted = found.counters()
            assert counted["llamacpp:spec_decode_num_drafts_total"] == 65
            assert counted["llamacpp:spec_decode_num_accepted_tokens_per_pos_total:1"] == 17
            return found.read_info()

    told = info(PROPS)
    assert (told["effective_max_running_requests"], told["max_total_num_tokens"], told["server_version"]) == (4, 4096, "b11434-abc1234")
    nameless = info({**PROPS, "build_info": "b0-unknown"})
    assert "server_version" not in nameless
    assert "b0-unknown" in nameless["notes"][0]
    assert "max_total_num_tokens" not in info({})


def test_steps_out_of_the_log_are_those_that_were_not_accepted_drafts():
    found = LlamaCppBackend(ServerConfig()).step_log(LOG)
    assert len(found) == (40 - 1 - 6) + (40 - 1)
    assert found[0] == pytest.approx(6730.45 / 33)
    assert found[-1] == pytest.approx(166.84, abs=0.005), "the server's own figure where nothing was drafted"
    assert LlamaCppBackend(ServerConfig()).step_log([]) == []


DEATHS = {
    "weights_missing": "gguf_init_from_file: failed to open GGUF file '/models/none.gguf' (No such file or directory)",
    "bad_flag": "error: invalid argument: --spec-ngram",
    "port": "0.00.024.671 E srv         start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8941",
    "oom_boot": "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
}


@pytest.mark.parametrize("kind", DEATHS)
def test_deaths_are_classified_by_the_line_that_tells(kind):
    found = failure.classify("llamacpp", {0: 1}, ["0.00.000.212 I srv          init: initializing ...", DEATHS[kind], "exiting"], booted=False)
    assert (found.kind, found.line) == (kind, " ".join(DEATHS[kind].split()))


def test_it_is_among_the_backends():
    assert backend("llamacpp") is LlamaCppBackend
    assert "{host}" in LlamaCppBackend.template, "ranks on another node listen where they are reached"
