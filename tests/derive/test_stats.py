"""Resampling: what is drawn, and which intervals may be shown."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.synthetic import Physics, write_campaign
from tests.derive.conftest import SMALL
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.load import Table
from workflow.derive.stats import BOOTS_SHOWN, Resampling, interval, ranges


def table_of(boots: int, prompts: int, arms: int = 2) -> Table:
    """Request rows of one stage; the same prompts for every arm, other prompts in every boot."""
    rows = [(b, p, a) for b in range(boots) for a in range(arms) for p in range(prompts)]
    columns = {
        "stage": tuple("window" for _ in rows),
        "boot": tuple(str(b) for b, _, _ in rows),
        "repeat": tuple(str(b) for b, _, _ in rows),
        "content": tuple("code" for _ in rows),
        "asked_isl": tuple("128" for _ in rows),
        "prompt_id": tuple(f"{b}-{p}" for b, p, _ in rows),
        "request_id": tuple(f"r{p}" for _, p, _ in rows),
        "arm": tuple(str(a) for _, _, a in rows),
    }
    return Table("requests_window.csv", "requests", columns, tuple(range(2, len(rows) + 2)))


@given(boots=st.integers(1, 5), prompts=st.integers(1, 6))
@settings(max_examples=20)
def test_arms_share_their_draw(boots, prompts):
    table = table_of(boots, prompts)
    weights = Resampling(40, seed=3).weights(table, True, {})
    rows = weights.matrix[:, weights.unit]
    first, second = (np.array([arm == name for arm in table.columns["arm"]]) for name in "01")
    assert np.array_equal(rows[:, first], rows[:, second])


@given(boots=st.integers(2, 6))
@settings(max_examples=10)
def test_a_draw_has_one_boot_fewer(boots):
    drawn = Resampling(50, seed=1).of_boots("window", "window", [str(b) for b in range(boots)])
    assert np.all(drawn[0] == 1)
    assert np.all(drawn[1 + BOOTS_SHOWN :].sum(axis=1) == boots - 1)
    shown = min(boots, BOOTS_SHOWN)
    assert np.array_equal(drawn[1 : 1 + shown, :shown], np.eye(shown))


def test_the_variance_of_a_mean_over_boots_is_not_understated():
    """With two boots a plain bootstrap shows half of the variance; the rescaled one shows all of it."""
    rng = np.random.default_rng(0)
    resampling = Resampling(400, seed=0)
    spread, truth = [], []
    for trial in range(300):
        values = rng.normal(0, 1, 2)
        weights = replace(resampling, seed=trial).of_boots("x", "x", ["0", "1"])[1 + BOOTS_SHOWN :]
        spread.append(np.var(weights @ values / weights.sum(axis=1)))
        truth.append(values.mean() ** 2)
    assert np.mean(spread) == pytest.approx(np.mean(truth), rel=0.25)


def test_resampling_is_the_same_every_time():
    table = table_of(2, 4)
    one, two = (Resampling(30, seed=9).weights(table, True, {}).matrix for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, Resampling(30, seed=10).weights(table, True, {}).matrix)


@given(st.sets(st.integers(2, 60), min_size=1))
def test_ranges_say_which_lines(lines):
    parts = ranges(list(lines)).split(",")
    back = set()
    for part in parts:
        first, _, last = part.partition("-")
        back |= set(range(int(first), int(last or first) + 1))
    assert back == lines


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95]))
def test_an_interval_ends_where_the_quantiles_are(resamples, level):
    found = interval(np.array([0.0] * (1 + BOOTS_SHOWN) + resamples), level)
    assert found == pytest.approx(np.quantile(resamples, [(1 - level) / 2, (1 + level) / 2]), rel=1e-9, abs=1e-9)


def test_no_interval_from_resamples_that_are_not_finite():
    values = np.full(1 + BOOTS_SHOWN + 10, 1.0)
    assert interval(values, 0.95) == (1.0, 1.0)
    values[-1] = np.nan
    assert interval(values, 0.95) is None
    assert interval(values[: 1 + BOOTS_SHOWN], 0.95) is None


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """One boot only."""
    plan = replace(SMALL, repeats=1, prompts=6)
    return Derivation(load.load(write_campaign(tmp_path_factory.mktemp("single"), Physics(), plan)))


def test_one_boot_gives_no_interval_to_a_time(single):
    fact = single.result("window.code.g3.tpot_ms").fact
    assert fact.n == 1 and fact.lo is None and fact.resampled == "" and fact.repeats == ()


def test_one_boot_gives_counts_an_interval_over_requests(single):
    fact = single.result("window.code.g3.accept_length").fact
    assert fact.n == 1 and fact.lo <= fact.value <= fact.hi and fact.resampled == "1 boot, 6 requests"


def test_one_boot_leaves_a_clocked_claim_open(single):
    claim = single.claim("window.spec_pays.code")
    assert claim.verdict == "unresolved" and "one boot only" in claim.reason


def test_one_boot_predicts_nothing(single):
    fact = single.result("division.code.g3.predicted").fact
    assert fact.missing and "one boot only" in fact.reason


def test_intervals_hold_the_value_and_say_what_was_drawn(values):
    shown = [fact for fact in values.facts.values() if fact.lo is not None]
    assert len(shown) > 500
    for fact in shown:
        assert fact.lo <= fact.hi and fact.resampled and fact.n >= 1, fact.key
    assert values.fact("window.code.g3.speedup").resampled == "2 boots, 6 requests: too few boots for the stated level"
    assert values.fact("lanes.c4.ratio").resampled == "2 boots: too few boots for the stated level"


def test_what_was_read_from_a_manifest_has_no_interval(values):
    assert values.fact("run.minutes").lo is None and values.fact("search.boot_share").lo is None and values.fact("model.params").n == 0


def test_repeats_are_the_values_of_single_boots(folder, measured, values):
    fact = values.fact("isl.i512.plain.step_ms")
    points = measured.tables["sweep_isl.csv"]
    for boot, shown in enumerate(fact.repeats):
        rows = points.select({"isl": 512, "lane": "plain", "boot": boot})
        steps = points.numbers("steps")[rows]
        assert shown == pytest.approx(np.sum(points.numbers("step_ms")[rows] * steps) / steps.sum(), rel=1e-12)
    assert len(fact.repeats) == 2


def test_more_boot_noise_widens_the_interval(tmp_path):
    widths = []
    for name, noise in (("calm", 0.001), ("rough", 0.2)):
        derivation = Derivation(load.load(write_campaign(tmp_path / name, Physics(boot_noise=noise), SMALL)))
        fact = derivation.result("isl.i512.plain.step_ms").fact
        widths.append((fact.hi - fact.lo) / fact.value)
    assert widths[1] > 5 * widths[0]
