"""The prefill chunk where it can bind: each size against the base of its own boot."""

import math

import pytest

from tests.derive.edit import drop, rewrite, scale
from workflow.derive import load
from workflow.derive.evaluate import Derivation

CLAIM = "knobs.chunk.floor_not_slope"


def test_each_chunk_is_held_against_the_base_of_its_boot(derivation, measured):
    table = measured.find("points", "search")
    rates: dict[str, dict[str, list[float]]] = {}
    for i in table.select({"stage": "knobs", "isl": "512", "status": "ok"}):
        rates.setdefault(table.columns["boot"][i], {}).setdefault(table.columns["label"][i], []).append(math.log(table.numbers("output_throughput")[i]))
    for side, size in (("small", 64), ("large", 1024)):
        logs = [of[f"chunked_prefill_size={size}@bind"][0] - sum(of["base@bind"]) / len(of["base@bind"]) for of in rates.values()]
        assert len(logs) == 2
        assert derivation.result(f"knobs.chunk.{side}.ratio").fact.value == pytest.approx(math.exp(sum(logs) / len(logs)))
        assert derivation.result(f"knobs.chunk.{side}.size").fact.value == size
    assert derivation.result("knobs.chunk.base.size").fact.value == 2048 and derivation.result("knobs.chunk.isl").fact.value == 512


def test_an_even_price_for_each_halving_is_a_slope(scratch):
    """From 2048 down to 64 there are five halvings: the first takes a fifth of the whole, in logarithms."""
    derivation = Derivation(load.load(scratch))
    small, large = (derivation.result(f"knobs.chunk.{side}.ratio").fact.value for side in ("small", "large"))
    scale(scratch, "search.csv", "output_throughput", small**0.2 / large, stage="knobs", label="chunked_prefill_size=1024@bind")
    claim = Derivation(load.load(scratch)).claim(CLAIM)
    assert claim.verdict == "unresolved" and claim.margin == pytest.approx(0, abs=1e-6)


def test_a_small_chunk_that_costs_nothing_leaves_nothing_to_divide(scratch):
    small = Derivation(load.load(scratch)).result("knobs.chunk.small.ratio").fact.value
    scale(scratch, "search.csv", "output_throughput", 1 / small, stage="knobs", label="chunked_prefill_size=64@bind")
    scale(scratch, "search.csv", "output_throughput", 0.5, stage="knobs", label="chunked_prefill_size=1024@bind")
    claim = Derivation(load.load(scratch)).claim(CLAIM)
    assert claim.verdict == "unresolved" and "costs nothing" in claim.reason


def test_the_base_has_to_be_the_largest(scratch):
    rewrite(scratch, "search.csv", lambda rows: [row | {"chunked_prefill_size": "512"} if row["label"] == "base@bind" else row for row in rows])
    claim = Derivation(load.load(scratch)).claim(CLAIM)
    assert claim.verdict == "unresolved" and claim.reason == "the base's prefill chunk is not larger than those beside it"


def test_one_chunk_makes_no_slope(scratch):
    drop(scratch, "search", lambda row: row["label"] == "chunked_prefill_size=1024@bind")
    claim = Derivation(load.load(scratch)).claim(CLAIM)
    assert claim.verdict == "missing" and "one prefill chunk" in claim.reason
