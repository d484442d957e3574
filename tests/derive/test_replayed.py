"""What a replayed acceptance is worth in a model that nobody trained: simulated, and missing where nobody asked for it."""

from __future__ import annotations

import pytest

from tests.data.synthetic_cost import REPLAYED


@pytest.mark.parametrize("mode", sorted(REPLAYED))
def test_the_speedup_is_one_division_and_simulated(derivation, mode):
    plain, drafted = REPLAYED[mode]
    found = derivation.result(f"replayed.m25.{mode}.speedup").fact
    assert found.value == pytest.approx(plain / drafted) and found.status == "simulated"
    assert derivation.result(f"replayed.m25.{mode}.plain.tpot_ms").fact.status == "measured"
    assert derivation.result(f"replayed.m25.{mode}.dspark.tpot_ms").fact.status == "simulated"
    assert derivation.result(f"replayed.m25.{mode}.tokens_per_round").fact.value == pytest.approx(2.5)


def test_the_size_is_that_of_the_rows(derivation):
    assert derivation.result("replayed.m25.parameters").fact.value == 25_000_000


@pytest.mark.parametrize("key", ["replayed.m60.eager.speedup", "replayed.moe.fused.speedup", "replayed.m60.fused.tokens_per_round"])
def test_models_without_rows_are_missing(derivation, key):
    found = derivation.result(key).fact
    assert found.value is None and "sweep_verify_cost.csv" in found.reason
