from __future__ import annotations

import pytest

from engine.bench.client import closed_loop
from engine.config import EngineConfig, SamplingParams
from engine.types import Request
from tests.measure.fake_engine import FakeEngine


class Watched(FakeEngine):
    most = 0

    def add_request(self, request: Request) -> None:
        super().add_request(request)
        self.most = max(self.most, len(self.waiting) + len(self.running))


def requests(count: int, tokens: int = 5) -> list[Request]:
    return [Request(f"r{i}", (1, 10 + i), SamplingParams(max_tokens=tokens + i % 3)) for i in range(count)]


@pytest.mark.parametrize("level", [1, 3, 10])
def test_it_keeps_the_level_and_loses_no_request(level: int) -> None:
    engine = Watched(EngineConfig(lane="dspark", block_size=2))
    result = closed_loop(engine, requests(10), level)
    assert engine.most == level
    assert {record.request_id for record in result.requests} == {f"r{i}" for i in range(10)}
    assert sum(step.emitted for step in result.steps) == sum(record.osl for record in result.requests)


def test_a_refused_request_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "refuse")
    result = closed_loop(FakeEngine(EngineConfig(lane="plain")), requests(3), 1)
    assert [record.finish_reason for record in result.requests] == ["length", "error: too long", "length"]


def test_no_level_below_one() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        closed_loop(FakeEngine(EngineConfig(lane="plain")), requests(1), 0)


def test_an_engine_that_forgets_a_request_is_noticed() -> None:
    engine = FakeEngine(EngineConfig(lane="plain"))
    engine.add_request = lambda request: None
    with pytest.raises(RuntimeError, match="1 requests in flight"):
        closed_loop(engine, requests(1), 1)
