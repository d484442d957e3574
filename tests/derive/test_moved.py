"""What a comparison of two publications calls moved."""

from dataclasses import replace

import pytest

from workflow.derive.moved import compare
from workflow.derive.values import Values


def with_fact(values: Values, key: str, **change) -> Values:
    return replace(values, facts=values.facts | {key: replace(values.facts[key], **change)})


def verdict(old: Values, new: Values, key: str) -> str:
    return next(move.verdict for move in compare(old, new) if move.key == key)


def test_a_publication_equals_itself(values):
    assert {move.verdict for move in compare(values, values)} == {"same"}


def test_a_time_within_the_noise_has_not_moved(values):
    key = "window.decode_ms"
    value = values.fact(key).value
    inside = with_fact(values, key, value=value * 1.0005, lo=value * 0.99, hi=value * 1.01)
    assert verdict(values, inside, key) == "within noise"
    outside = with_fact(values, key, value=value * 2, lo=value * 1.99, hi=value * 2.01)
    assert verdict(values, outside, key) == "moved"


def test_a_clocked_value_without_interval_gets_the_floor(values):
    key = "division.code.g3.measured"
    fact, floor = values.fact(key), values.fact("noise.floor").value / 100
    assert fact.lo is None
    assert verdict(values, with_fact(values, key, value=fact.value * (1 + floor * 0.9)), key) == "within noise"
    assert verdict(values, with_fact(values, key, value=fact.value * (1 + floor * 1.1)), key) == "moved"


def test_a_count_moves_by_any_difference(values):
    assert verdict(values, with_fact(values, "run.cells", value=values.fact("run.cells").value + 1), "run.cells") == "moved"
    assert verdict(values, with_fact(values, "machine.cpu", value="another"), "machine.cpu") == "moved"


def test_new_and_gone(values):
    key = "window.decode_ms"
    lost = with_fact(values, key, value=None, reason="not measured")
    assert verdict(values, lost, key) == "gone" and verdict(lost, values, key) == "new"
    without = replace(values, facts={k: f for k, f in values.facts.items() if k != key})
    assert verdict(values, without, key) == "gone" and verdict(without, values, key) == "new"


@pytest.mark.parametrize("change", [{"unit": "s"}, {"kind": "ratio"}, {"formula": "another way"}])
def test_another_definition_is_not_compared(values, change):
    assert verdict(values, with_fact(values, "window.decode_ms", **change), "window.decode_ms") == "definition changed"


def test_a_flipped_claim(values):
    claim = values.claims["lanes.spec_wins_at_one"]
    other = replace(values, claims=values.claims | {claim.key: replace(claim, verdict="fails" if claim.verdict == "holds" else "holds")})
    assert verdict(values, other, claim.key) == "claim flipped"
