"""The terms of a step by size of model, and their ratio to a plain forward of the same model."""

from __future__ import annotations

import pytest

from tests.data.synthetic_cost import SIZES
from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.replayed import MODELS
from workflow.derive.facts.sizes import WINDOW

CLOCK = 1.03
"""Median over minimum of the synthetic rows."""


@pytest.mark.parametrize("size", MODELS)
def test_the_terms_are_medians_of_steps_and_the_ratios_their_own(derivation, size):
    one, further, draft = SIZES[MODELS[size]]
    window = one + (WINDOW - 1) * further
    terms = {"decode": one, "draft": draft, "verify": window}
    assert {term: derivation.result(f"modes.size.{size}.{term}_ms").fact.value for term in terms} == pytest.approx({term: CLOCK * ms for term, ms in terms.items()})
    assert derivation.result(f"modes.size.{size}.verify_ratio").fact.value == pytest.approx(window / one)


def test_clocked_operators_other_batches_and_widths_stay_out(scratch):
    def more(rows):
        own = next(row for row in rows if row["model"] == "random-25m" and row["quantity"] == "verify")
        return rows + [own | {"run_id": f"extra-{place}", "median_ms": "999.0", **other} for place, other in enumerate(({"instrument": "on"}, {"batch": "4"}, {"width": "2"}, {"mode": "fused"}))]

    before = Derivation(load.load(scratch)).result("modes.size.m25.verify_ms").fact.value
    rewrite(scratch, "sweep_verify_cost.csv", more)
    assert Derivation(load.load(scratch)).result("modes.size.m25.verify_ms").fact.value == before


def test_a_model_that_was_not_timed_is_missing_and_decides_nothing(scratch):
    rewrite(scratch, "sweep_verify_cost.csv", lambda rows: [row for row in rows if row["model"] != "random-moe"])
    derivation = Derivation(load.load(scratch))
    found = derivation.result("modes.size.moe.verify_ms").fact
    assert found.value is None and "random-moe" in found.reason
    assert derivation.claim("modes.size.window_cheaper.moe").verdict == "missing"
    assert derivation.claim("modes.size.window_cheaper.m25").verdict == "holds"
