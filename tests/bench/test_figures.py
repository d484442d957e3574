"""The printed figures from points whose answers are known, and the bandwidth probe on a small buffer."""

from __future__ import annotations

import pytest

from tests.bench.bandwidth import best_read_gb_s
from tests.bench.figures import figures, main


def cell(label: str, content: str, tokens: int, rounds: int | None, steps: int, draft: float, verify: float, tpot: float, mode: str = "eager") -> dict:
    return {
        "status": "ok",
        "mode": mode,
        "content": content,
        "label": label,
        "steps": steps,
        "rounds": rounds,
        "decode_tokens": tokens,
        "decode_throughput": 1000 / tpot,
        "draft_ms": draft,
        "verify_ms": verify,
        "commit_ms": 0.0,
    }


def test_pools_are_sums_over_sums() -> None:
    points = [
        cell("plain", "arith", 100, None, 100, 0.0, 5.0, 5.0),
        cell("plain", "arith", 300, None, 300, 0.0, 5.0, 5.0),
        cell("dspark-g3", "arith", 90, 30, 30, 1.0, 6.0, 2.5),
        cell("dspark-g3", "arith", 110, 70, 70, 1.0, 6.0, 4.5),
        cell("dspark-g3/fused", "arith", 90, 30, 30, 0.1, 0.5, 0.2, mode="fused"),
    ]
    found = {figure.name.split(" (")[0].strip(): figure for figure in figures(points, weights_bytes=20_000_000, read_gb_s=10.0)}
    assert found["plain decode over the memory bound"].value == pytest.approx(5.0 / 2.0)
    assert found["verifying four positions, in decode steps"].value == pytest.approx(1.2)
    speedup = found["speedup on arith at the best block size"]
    assert speedup.value == pytest.approx(5.0 / ((90 * 2.5 + 110 * 4.5) / 200))
    assert not speedup.reached
    assert found["predicted by division"].value == pytest.approx(2.0 * 5.0 / 7.0)
    assert found["largest gap between division and measurement"].value == pytest.approx(abs(2.0 * 5.0 / 7.0 / speedup.value - 1))


def test_a_reading_is_of_a_plausible_size() -> None:
    assert 0.1 < best_read_gb_s(1 << 24, 2) < 2000


def test_a_folder_without_the_sweep_is_one_line(tmp_path, capsys) -> None:
    assert main(["--measured", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"--measured {tmp_path}: no sweep_window.csv" in said and said.count("\n") == 1
