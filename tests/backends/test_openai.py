"""A server that runs already: what it tells is taken, what it does not tell is unknown, nothing is launched."""

from __future__ import annotations

import json
import sys

import pytest

from engine.backends import backend
from engine.backends.base import EngineFailure
from engine.backends.openai import OpenAIBackend
from engine.backends.server_config import ServerConfig
from engine.config import ConfigError
from tests.loopback.server import Loopback, Reply, Say, data, document

INFO = {"mem_fraction_static": 0.85, "speculative_algorithm": "DSPARK", "max_total_num_tokens": 4096, "version": "0.5.23",
        "internal_states": [{"effective_max_running_requests_per_dp": 7}]}  # fmt: skip


def test_a_server_without_its_client_is_one_line(monkeypatch):
    """The client of servers is an extra of its own."""
    for module in [name for name in sys.modules if name.startswith(("engine.backends.openai", "engine.backends.server", "engine.backends.warm", "engine.backends.http_ask", "engine.bench.http_client"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ConfigError, match=r"backend: openai is asked over HTTP, which needs httpx2: pip install .*servers"):
        backend("openai")


def completion(body: dict, server: Loopback) -> Reply:
    text = data({"choices": [{"text": "x" * body["max_tokens"], "finish_reason": "length"}]})
    used = {"completion_tokens": body["max_tokens"], "prompt_tokens": len(body["prompt"])}
    return Reply([Say(text + data({"choices": [], "usage": used}) + data("[DONE]"))])


def told(**scripts: object) -> Loopback:
    return Loopback({"/v1/completions": completion, **{f"/{name}": (lambda body, server, answer=answer: answer) for name, answer in scripts.items()}})


def booted(server: Loopback, **config: object) -> dict:
    with OpenAIBackend(ServerConfig(url=server.url, warmup_batches=2, **config)) as backend:
        return backend.boot()


def test_launch_flags_capacities_and_version_are_read_where_they_are_told():
    with told(server_info=document(INFO)) as server:
        info = booted(server)
    assert info["server_version"] == "0.5.23"
    assert (info["max_total_num_tokens"], info["effective_max_running_requests"]) == (4096, 7)
    assert info["notes"] == ["launch flags: mem_fraction_static 0.85, speculative_algorithm DSPARK"]


@pytest.mark.parametrize("states", [{}, [], None, ["busy"]])
def test_states_of_another_shape_are_no_capacity(states):
    with told(server_info=document({**INFO, "internal_states": states})) as server:
        assert "effective_max_running_requests" not in booted(server)


def test_the_version_of_vllm_has_its_own_address():
    with told(version=document({"version": "0.32.0"})) as server:
        assert booted(server)["server_version"] == "0.32.0"


def test_what_nobody_tells_is_unknown_and_no_capacity_is_invented():
    with told() as server:
        info = booted(server)
    assert info["server_version"] == "unknown"
    assert info["notes"] == ["launch flags: unknown"]
    assert {"max_total_num_tokens", "effective_max_running_requests"}.isdisjoint(info)


def test_a_load_runs_and_prompts_are_said_to_need_a_nonce():
    request = {"request_id": "r0", "prompt_ids": (1, 2, 3), "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "ignore_eos": True, "max_tokens": 5, "seed": 1}}
    with told() as server, OpenAIBackend(ServerConfig(url=server.url, model="m", warmup_batches=1)) as backend:
        backend.boot()
        answer = backend.run([request], 1, 10.0)
    assert not backend.flushes
    assert answer["requests"][0]["output_tokens"] == 5
    assert server.bodies[-1]["model"] == "m"
    assert json.dumps(answer["requests"])


def test_the_lane_that_runs_is_the_only_one():
    """Two arms of one running server would be the same server twice, compared with itself."""
    with told() as server:
        declared = (("lookup", ()),)
        booted(server, lanes=declared, lane="lookup", block_size=3)
        with pytest.raises(EngineFailure, match="lookup") as failure:
            booted(server, lanes=declared)
        with pytest.raises(EngineFailure, match="plain"):
            booted(server, lane="dspark", block_size=3)
    assert failure.value.status == "rejected"


@pytest.mark.parametrize(("config", "why"), [({"knobs": (("threads", 2),)}, "threads"), ({"flags": ("--tp", "2")}, "--tp 2"), ({"url": None}, "url")])
def test_what_a_running_server_cannot_be_given_is_refused(config, why):
    with told() as server, pytest.raises(ConfigError, match=why):
        OpenAIBackend(ServerConfig(**{"url": server.url, **config})).boot()


def test_nothing_there_is_a_failure():
    with told() as server:
        gone = server.url
    with pytest.raises(EngineFailure, match="no token"):
        OpenAIBackend(ServerConfig(url=gone)).boot()
