"""How five bisections share their work: near the first, and over everything again where that was too narrow."""

from __future__ import annotations

from tests.bench.memory_boundary import HIGH, LOW, boundaries


def test_later_bisections_look_near_the_first_and_widen_at_a_rim() -> None:
    truth = iter((0.8, 0.806, 0.84, 0.8))
    asked: list[tuple[float, float]] = []
    now = [next(truth)]

    def locate(low: float, high: float) -> float:
        asked.append((low, high))
        at = min(max(now[0], low), high)
        if at == now[0]:
            now[0] = next(truth, 0.0)
        return at

    assert boundaries(locate, 4) == [0.8, 0.806, 0.84, 0.8]
    assert asked == [(LOW, HIGH), (0.78, 0.82), (0.78, 0.82), (LOW, HIGH), (0.78, 0.82)]
