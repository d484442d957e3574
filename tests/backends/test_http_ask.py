"""Questions beside the measured requests: what was not answered is unknown, and no zero."""

from __future__ import annotations

import pytest

from engine.backends import http_ask
from engine.backends.llamacpp import LlamaCppBackend
from engine.backends.metrics_text import counters, delta
from engine.backends.server_config import ServerConfig
from tests.loopback.server import Loopback, Reply, Say, document


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with Loopback({"/info": lambda body, server: document({"a": 1})}) as server:
        assert http_ask.document(f"{server.url}/info") == {"a": 1}


def test_half_an_answer_is_none() -> None:
    with Loopback({"/metrics": lambda body, server: Reply([Say(b"served_total 4\n", cut=True)])}) as server:
        assert http_ask.text(f"{server.url}/metrics") is None
        backend = LlamaCppBackend(ServerConfig())
        backend.url = server.url
        assert backend.counters() is None


def test_growth_since_a_reading_that_failed_is_unknown() -> None:
    """Not all that the server has counted in its life."""
    assert delta(None, {"a": 500.0}) == {} == delta({"a": 500.0}, None)
    assert delta(counters(""), {"a": 2.0}) == {"a": 2.0}, "a counter appears when it first counts"
    assert delta({"a": 5.0, "b": 1.0}, {"a": 2.0, "b": 4.0}) == {"b": 3.0}, "one that went back was restarted"
