"""One rule says what is beyond the noise, in facts and in verdicts."""

from dataclasses import replace

import pytest

from tests.data.synthetic import Physics, Plan, write_campaign
from workflow.derive import load
from workflow.derive.evaluate import Derivation, describe
from workflow.derive.facts.compare import noise_of
from workflow.derive.reader import Read
from workflow.derive.rows import Record
from workflow.derive.stats import reach

PLAN = Plan(repeats=2, prompts=4, osl=24, isls=(64,), concurrencies=(1, 4, 16))


@pytest.fixture(scope="module", params=[0.0005, 0.01, 0.03])
def batch(request, tmp_path_factory):
    """A campaign in which speculation loses at the largest batch, on machines of three kinds of calm."""
    physics = replace(Physics(boot_noise=request.param, step_noise=0.002), accept_batch=0.1, verify_row_growth=1.5)
    return Derivation(load.load(write_campaign(tmp_path_factory.mktemp("batch"), physics, PLAN)))


def test_a_crossover_that_is_claimed_has_both_of_its_ends(batch):
    if batch.claim("lanes.crossover_exists").verdict == "holds":
        assert not batch.result("lanes.crossover").fact.missing
        assert not batch.result("lanes.first_loss").fact.missing


def test_a_direction_is_judged_by_the_noise_of_its_ratio(batch):
    claim = batch.claim("lanes.spec_wins_at_one")
    assert claim.noise == pytest.approx(noise_of(Read(batch), batch.result("lanes.c1.ratio").sample), rel=0.05)


def test_the_reach_of_an_interval_is_measured_towards_zero():
    assert reach(0.5, (0.4, 2.0)) == pytest.approx(0.1)
    assert reach(-0.5, (-2.0, -0.4)) == pytest.approx(0.1)


def test_two_boots_are_named_as_too_few():
    assert "too few" in describe(Record(boots={("window", "window"): 2}))
    assert "too few" not in describe(Record(boots={("window", "window"): 3}))


def test_the_fewest_boots_are_a_fact(batch):
    assert batch.result("ci.boots_least").fact.value == 2
