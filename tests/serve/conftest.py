"""One server a session: the real engine, a real socket on a free port."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from engine.config import WEIGHTS, EngineConfig

if not (find_spec("starlette") and find_spec("uvicorn")):
    collect_ignore = ["test_server.py"]

QUEUED = 6


class Client:
    """Talks to one server as any HTTP client would."""

    def __init__(self, port: int, loop) -> None:
        self.port, self.loop = port, loop

    def open(self, method: str, path: str, body: bytes | None = None) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body, {"content-type": "application/json"})
        return connection, connection.getresponse()

    def ask(self, method: str, path: str, body=None) -> tuple[int, bytes]:
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection, answer = self.open(method, path, raw)
        data = answer.read()
        connection.close()
        return answer.status, data

    def post(self, path: str, **body) -> tuple[int, dict]:
        status, data = self.ask("POST", path, body)
        return status, json.loads(data)

    def events(self, path: str, **body) -> list[dict | str]:
        """Data of each server-sent event."""
        status, data = self.ask("POST", path, {"stream": True, **body})
        assert status == 200, data
        parts = [line.removeprefix("data: ") for line in data.decode().split("\n\n") if line]
        return [part if part == "[DONE]" else json.loads(part) for part in parts]

    def quiet(self, seconds: float = 20.0) -> dict:
        """server_info once nothing runs and nothing waits."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            info = json.loads(self.ask("GET", "/server_info")[1])
            if info["running"] == info["queued"] == 0:
                return info
            time.sleep(0.05)
        raise AssertionError("requests are still being served")


@contextmanager
def serving(**settings) -> Iterator[Client]:
    import uvicorn

    from engine.engine import Engine
    from engine.model.tokenizer import Tokenizer
    from engine.serve.app import Front
    from engine.serve.loop import EngineLoop

    config = {"lane": "dspark", "max_running_requests": 2, "max_total_num_tokens": 2048, "context_length": 512} | settings
    with Engine(EngineConfig(**config)) as engine, socket.socket() as listening:
        loop = EngineLoop(engine, QUEUED)
        front = Front(loop, Tokenizer.load(WEIGHTS, engine.model.bos_token_id), "soundings", max_body_bytes=20_000)
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(front.app(), log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        client = Client(listening.getsockname()[1], loop)
        end = time.monotonic() + 60
        while not server.started or client.ask("GET", "/health")[0] != 200:
            assert time.monotonic() < end and thread.is_alive(), "the server did not become ready"
            time.sleep(0.02)
        yield client
        server.should_exit = True
        thread.join(30)
        assert not loop.alive


@pytest.fixture(scope="session")
def server():
    with serving() as client:
        yield client
