"""The split of a change sums to the change, whatever the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow.derive.decompose import Term, log_mean, split, what_if
from workflow.derive.sample import Sample
from workflow.derive.stats import BOOTS_SHOWN

positive = st.floats(1e-3, 1e5)


def term(prefill, tokens, tau, step, rest) -> Term:
    e2e = prefill + tokens / tau * step + rest
    return Term(Sample(e2e, "ms"), Sample(prefill, "ms"), Sample(tokens, "token"), Sample(tau, "token/round"), Sample(step, "ms/round"))


terms = st.builds(term, positive, st.floats(1, 1000), st.floats(0.5, 8), positive, st.floats(-10, 1000))


@given(terms, terms)
def test_parts_sum_to_the_whole(before, after):
    parts = split(before, after)
    total = parts.prefill + parts.step + parts.accept + parts.rest
    size = max(before.e2e.value, after.e2e.value)
    assert total.value == pytest.approx(parts.total.value, abs=1e-9 * size)
    assert parts.total.value == pytest.approx(after.e2e.value - before.e2e.value, abs=1e-12 * size)


@given(positive, positive)
def test_log_mean_lies_between(a, b):
    mean = log_mean(Sample(a), Sample(b)).value
    assert min(a, b) * (1 - 1e-9) <= mean <= max(a, b) * (1 + 1e-9)


@given(positive)
def test_log_mean_of_equals(a):
    assert log_mean(Sample(a), Sample(a)).value == a


@given(positive, st.floats(1.01, 100))
def test_milliseconds_and_logarithms_are_one_split(a, growth):
    """L(a, b) ln(b / a) = b - a: a share of the milliseconds is the share of the logarithm."""
    b = a * growth
    assert log_mean(Sample(a), Sample(b)).value * np.log(b / a) == pytest.approx(b - a, rel=1e-9)


@given(terms, terms)
def test_only_what_changed_is_charged(before, after):
    slower = Term(before.e2e - before.rounds_time + before.rounds_time * 2, before.prefill, before.tokens, before.tau, before.step * 2)
    parts = split(before, slower)
    assert parts.step.value == pytest.approx(before.rounds_time.value, rel=1e-9)
    assert parts.accept.value == 0 and parts.prefill.value == 0


@given(terms, terms)
def test_what_if_nothing_changed_is_what_was(before, after):
    for part in ("prefill", "step", "accept"):
        assert what_if(after, after, part).value == pytest.approx(after.e2e.value, rel=1e-9)


def test_units_are_kept():
    parts = split(term(10, 60, 2, 5, 0), term(100, 60, 1.5, 6, 1))
    assert {part.unit for part in vars(parts).values()} == {"millisecond"} or all(part.to("ms") for part in vars(parts).values())
    assert parts.accept.value > 0 and parts.step.value > 0


def test_shares_of_a_campaign_sum_to_one(values):
    shares = [values.fact(f"loss.{part}_share").value for part in ("prefill", "step", "accept", "rest")]
    milliseconds = [values.fact(f"loss.{part}_ms").value for part in ("prefill", "step", "accept", "rest")]
    assert sum(shares) == pytest.approx(100, abs=1e-9)
    assert sum(milliseconds) == pytest.approx(values.fact("loss.to_ms").value - values.fact("loss.from_ms").value, rel=1e-9)
    assert values.fact("loss.shares_sum").value == pytest.approx(100, abs=1e-9)

    part = values.fact("loss.largest.part").value.removeprefix("part of the loss: ")
    assert values.fact("loss.largest.share").value == values.fact(f"loss.{part}_share").value == max(shares)


def test_every_resample_closes_too(derivation):
    total = sum((derivation.result(f"loss.{part}_share").sample.values for part in ("prefill", "step", "accept", "rest")), 0)
    drawn = total[1 + BOOTS_SHOWN :]
    assert drawn.size and np.allclose(drawn, 100, atol=1e-9)


def test_what_undoing_a_part_is_worth_is_the_time_over_what_would_be_left(values):
    for part in ("step", "accept", "prefill"):
        left = values.get(f"loss.whatif.{part}_ms").value
        assert values.get(f"loss.whatif.{part}").value == pytest.approx(values.get("loss.to_ms").value / left) and left > 0
