"""The largest win and loss as factors, each measured on its own, and the sweeps among which they are sought."""

import csv

import pytest

from tests.derive.edit import rewrite, scale
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


def slow_plain(folder, sweep, **where):
    """Requests of plain decoding in some cells of a sweep take fifty times as long."""
    with (folder / f"sweep_{sweep}.csv").open(encoding="utf8") as file:
        cells = {row["run_id"] for row in csv.DictReader(file) if all(row[name] == value for name, value in ({"lane": "plain"} | where).items())}
    assert cells

    def change(rows):
        return [row | {"e2e_ms": repr(50 * float(row["e2e_ms"]))} if row["run_id"] in cells else row for row in rows]

    rewrite(folder, f"requests_{sweep}.csv", change)


def told(derivation, which):
    said = {what: derivation.result(f"prologue.{which}.{what}").fact.value for what in ("label", "content", "gamma", "concurrency", "isl")}
    ratio, *factors = (derivation.result(f"prologue.{which}.{what}").fact.value for what in ("ratio", "accept_factor", "step_factor", "rest_factor"))
    assert factors[0] * factors[1] * factors[2] == pytest.approx(ratio)
    return said, ratio


@pytest.mark.parametrize(("sweep", "where", "content"), [("osl", {"osl": "64"}, "code"), ("content", {"content": "zh", "stage": "content"}, "zh")])
def test_a_win_of_any_length_or_content_counts(scratch, sweep, where, content):
    slow_plain(scratch, sweep, **where)
    said, ratio = told(Derivation(load.load(scratch)), "win")
    assert said == {"label": sweep, "content": content, "gamma": 3, "concurrency": 1, "isl": 128} and ratio > 20


def test_a_loss_at_a_block_size_under_load_counts(scratch):
    scale(scratch, "sweep_batch.csv", "duration_s", 50.0, label="dspark-g7", max_concurrency="8")
    said, ratio = told(Derivation(load.load(scratch)), "loss")
    assert (said["label"], said["content"], said["gamma"], said["concurrency"]) == ("batch", "mixed", 7, 8) and ratio < 0.1


def test_random_ids_are_no_text_to_win_on(scratch):
    slow_plain(scratch, "content", content="random-ids")
    said, _ = told(Derivation(load.load(scratch)), "win")
    assert said["content"] != "random-ids"
