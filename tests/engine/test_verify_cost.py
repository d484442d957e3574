"""The verify-cost table: complete, consistent with the model's sizes, and honest about what it read."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from engine.bench import bandwidth, verify_cost
from engine.bench.verify_cost import Plan, Variant, measure, numbers, variants_of
from engine.config import ConfigError
from engine.model.fused.compiler import COMPILERS
from engine.model.random_weights import write_random_weights

from .conftest import TINY, TINY_DRAFT

MODES = ["eager"] + (["fused-shared", "fused-serial"] if any(map(shutil.which, COMPILERS)) else [])


@pytest.fixture(autouse=True)
def small(monkeypatch, request):
    monkeypatch.setattr(bandwidth, "read_gb_s", lambda: 10.0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(request.config.cache.mkdir("soundings-fused")))


def plan(**settings) -> Plan:
    default = {"widths": (1, 2), "batches": (1, 2), "context": 20, "repeats": 2, "inner": 1, "gamma": 2, "steps": 2}
    return Plan(variants_of(["trained"], MODES), **(default | settings))


def test_every_quantity_of_every_variant(tiny):
    rows = measure(plan(), tiny)
    for variant in plan().variants:
        mine = [row for row in rows if (row.mode, row.fused_verify or "shared") == (variant.mode, variant.fused_verify)]
        windows = {(row.batch, row.width): row for row in mine if row.quantity == "verify" and row.lane is None}
        assert set(windows) == {(1, 1), (1, 2), (2, 1), (2, 2)}
        for (_, width), row in windows.items():
            assert 0 < row.min_ms <= row.median_ms <= row.max_ms
            assert row.block_sum_ms == pytest.approx(sum(row.block_ms.values())) and row.block_sum_ms > 0
            assert (row.ratio == 1) if width == 1 else (row.ratio > 0)
            assert row.bytes_read == row.weights_bytes and row.experts_touched is None
            assert row.bound_ms == pytest.approx(row.weights_bytes / 10e6)
        for batch in (1, 2):
            parts = {(row.lane, row.instrument, row.quantity) for row in mine if row.lane and row.batch == batch}
            plain = {("plain", clocked, name) for clocked in (False, True) for name in ("step", "decode", "commit", "other")}
            assert parts == plain | {("dspark", False, name) for name in ("step", "verify", "draft", "commit", "other")}


def test_what_is_loaded_once_is_one_boot(tiny):
    """A target a variant, and each of its engines: rows of one name share one, and no two names do."""
    rows = measure(plan(), tiny)
    loaded = {(row.mode, row.fused_verify, row.lane, row.instrument): row.boot for row in rows}
    assert all(row.boot == loaded[row.mode, row.fused_verify, row.lane, row.instrument] for row in rows)
    assert sorted(loaded.values()) == list(range(4 * len(plan().variants)))


def test_experts_read_grow_with_positions(tmp_path):
    config = replace(TINY, num_experts=8, num_experts_per_tok=2, intermediate_size=32)
    weights = write_random_weights(tmp_path, config, TINY_DRAFT, seed=5)
    rows = [row for row in measure(plan(widths=(1, 4), steps=0), weights) if row.mode == "eager" or row.fused_verify == "shared"]
    for mode in {row.mode for row in rows}:
        one, many = (next(r for r in rows if (r.mode, r.batch, r.width) == (mode, batch, width)) for batch, width in ((1, 1), (2, 4)))
        assert one.experts_touched == 2 * len(config.layer_types), "one position reads its own experts and no other"
        assert one.experts_touched < many.experts_touched <= 8 * len(config.layer_types)
        expert = 2 * 3 * 32 * config.hidden_size
        assert many.bytes_read - one.bytes_read == expert * (many.experts_touched - one.experts_touched)


def test_variants_are_visited_in_turning_order():
    a, b, c = (Variant(name) for name in "abc")
    assert [verify_cost._turned([a, b, c], turn)[0] for turn in range(6)] == [a, a, c, c, b, b]


def test_bad_input_is_one_line(capsys):
    for argv, said in (
        (["--models", "random-9b"], "--models random-9b: unknown model"),
        (["--modes", "fused-odd"], "--modes fused-odd: unknown mode"),
        (["--modes", "eager-shared"], "--modes eager-shared: unknown mode"),
        (["--widths", "0-3"], "widths [0, 1, 2, 3]: must hold numbers of at least 1"),
        (["--batches", "x"], "--batches x: must be numbers"),
        (["--repeats", "0"], "repeats 0: must be at least 1"),
    ):
        assert verify_cost.main(argv) == 2
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1, argv
    assert numbers("--widths", "1,4-6") == (1, 4, 5, 6)
    with pytest.raises(ConfigError, match="no variant"):
        Plan(()).check()
