"""From one concurrency of the sweep to the next: what a step gains in tokens and in time, and whether that pays."""

import pytest

from tests.derive.edit import remove, rewrite, scale
from workflow.derive import load
from workflow.derive.evaluate import Derivation

FILE = "sweep_concurrency.csv"


def fact(derivation, key):
    return derivation.result(f"scale.{key}").fact


def verdicts(folder):
    derivation = Derivation(load.load(folder))
    return [derivation.claim(f"scale.pays.s{place}").verdict for place in (1, 2, 3)]


def test_a_segment_joins_neighbouring_levels(derivation):
    """Levels are 1, 4 and 16, with 32 requests at each."""
    assert [fact(derivation, f"s{place}.{end}").value for place in (1, 2) for end in ("from", "to")] == [1, 4, 4, 16]
    assert [fact(derivation, f"s{place}.waves").value for place in (1, 2)] == [8, 2]
    assert fact(derivation, "s3.to").reason == "3 concurrencies were measured"
    assert derivation.claim("scale.pays.s3").verdict == "missing"


def test_a_last_wave_in_part_counts(scratch):
    rewrite(scratch, FILE, lambda rows: [row | {"num_prompts": "40"} if row["max_concurrency"] == "16" else row for row in rows])
    derivation = Derivation(load.load(scratch))
    assert [fact(derivation, f"s{place}.waves").value for place in (1, 2)] == [8, 3]


@pytest.mark.parametrize("lane", ["plain", "dspark"])
def test_gains_are_those_of_the_rows(derivation, measured, lane):
    table = measured.find("points", "concurrency")
    tokens, times = [], []
    for level in ("1", "4"):
        rows = table.select({"lane": lane, "max_concurrency": level, "stage": "concurrency"})
        steps = table.numbers("steps")[rows]
        tokens.append(table.numbers("decode_tokens")[rows].sum() / steps.sum())
        times.append(table.numbers("step_ms")[rows] @ steps / steps.sum())
    assert fact(derivation, f"s1.{lane}.tokens_gain").value == pytest.approx(tokens[1] / tokens[0])
    assert fact(derivation, f"s1.{lane}.step_gain").value == pytest.approx(times[1] / times[0])


def test_a_segment_pays_until_steps_grow_by_more_than_their_tokens(scratch):
    assert verdicts(scratch) == ["holds", "holds", "missing"]
    scale(scratch, FILE, "step_ms", 9.0, lane="plain", max_concurrency="16")
    assert verdicts(scratch) == ["holds", "fails", "missing"]


def test_equal_gains_are_left_open(scratch, derivation):
    even = fact(derivation, "s2.plain.tokens_gain").value / fact(derivation, "s2.plain.step_gain").value
    scale(scratch, FILE, "step_ms", even, lane="plain", max_concurrency="16")
    assert verdicts(scratch) == ["holds", "unresolved", "missing"]


def test_without_the_sweep_there_is_no_segment(scratch):
    remove(scratch, FILE, "requests_concurrency.csv", "steps_concurrency.csv")
    assert verdicts(scratch) == ["missing"] * 3
