"""The largest win and loss as factors, each measured on its own."""

import pytest

from tests.derive.edit import scale
from workflow.derive import load
from workflow.derive.evaluate import Derivation


@pytest.mark.parametrize("which", ["win", "loss"])
def test_the_three_factors_give_the_ratio(values, which):
    ratio, *factors = (values.fact(f"prologue.{which}.{name}").value for name in ("ratio", "accept_factor", "step_factor", "rest_factor"))
    assert factors[0] * factors[1] * factors[2] == pytest.approx(ratio)
    assert values.fact(f"prologue.{which}.step_growth").value == pytest.approx(factors[0] / ratio)


def test_time_outside_the_steps_is_not_sold_as_step_latency(scratch):
    """Slower clients leave the step factor alone and show in the rest."""
    keys = [f"prologue.win.{name}" for name in ("step_factor", "rest_factor", "ratio")]
    before = Derivation(load.load(scratch), resamples=0)
    was = [before.result(key).fact.value for key in keys]
    arm = f"dspark-g{before.result('prologue.win.gamma').fact.value}"
    content = before.result("prologue.win.content").fact.value
    points = {
        line.split(",")[0]
        for line in (scratch / "sweep_window.csv").read_text("utf8").splitlines()
        if f",{arm}," in line and f",{content}," in line
    }
    for run_id in points:
        scale(scratch, "requests_window.csv", "e2e_ms", 1.02, run_id=run_id)
    after = Derivation(load.load(scratch), resamples=0)
    now = [after.result(key).fact.value for key in keys]
    assert after.result("prologue.win.content").fact.value == content
    assert now[0] == was[0] and now[2] < was[2]
    assert now[1] / was[1] == pytest.approx(now[2] / was[2])
