"""The best block size, chosen on some boots and read on another."""

from dataclasses import replace

import numpy as np
import pytest

from tests.data.synthetic import Physics, Plan, write_campaign
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.held_out import held_out

CLAIM, FACT = "window.held_out_pays", "window.all.at_best.speedup_held_out"
CALM = Physics(boot_noise=0.0005, step_noise=0.002)
PLAN = Plan(repeats=3, prompts=2, osl=16, isls=(64,), concurrencies=(1, 4))
CAMPAIGNS = {
    "holds": (CALM, PLAN),
    "fails": (replace(CALM, verify_growth=1.2, draft_ms=6), PLAN),
    "unresolved": (CALM, replace(PLAN, aa_boots=3)),
    "missing": (CALM, replace(PLAN, repeats=2)),
}


@pytest.fixture(scope="module")
def derivations(tmp_path_factory):
    """Verdict -> a campaign that has it."""
    return {name: Derivation(load.load(write_campaign(tmp_path_factory.mktemp(name), *made))) for name, made in CAMPAIGNS.items()}


@pytest.mark.parametrize("verdict", CAMPAIGNS)
def test_verdict(derivations, verdict):
    claim = derivations[verdict].claim(CLAIM)
    assert claim.verdict == verdict, f"margin {claim.margin}, noise {claim.noise}, {claim.reason}"


def test_with_fewer_boots_than_it_takes_the_fact_says_so(derivations):
    fact = derivations["missing"].result(FACT).fact
    assert fact.missing and fact.reason == "fewer than 3 boots: too few to choose a block size on all but one"


def test_each_boot_is_read_where_the_others_point():
    """On boots 2 and 3 the second size is in front, so boot 1 is read there, although the first size is the faster one on it."""
    logs = np.array([[0.9, 0.1, 0.2], [0.0, 0.3, 0.4]])
    assert held_out(logs) == pytest.approx([0.0, 0.1, 0.2])


def test_what_choosing_adds_is_left_out():
    """Block sizes that are all alike: the best of them looks faster than any is, and read on the boot left out it does not."""
    draw = np.random.default_rng(7)
    logs = draw.normal(0.0, 0.1, (3000, 6, 4))
    chosen = logs.mean(axis=2).max(axis=1).mean()
    left_out = np.mean([np.mean(held_out(one)) for one in logs])
    assert chosen > 0.04 and abs(left_out) < 0.005


def test_it_is_the_mean_of_the_boots_own_ratios_with_an_interval_around(derivations):
    derivation = derivations["holds"]
    alone = {gamma: derivation.result(f"window.all.g{gamma}.speedup").fact.repeats for gamma in PLAN.gammas}
    fact = derivation.result(FACT).fact
    assert fact.n == 3 and all(len(one) == 3 for one in alone.values())
    assert fact.value == pytest.approx(np.exp(np.mean(held_out(np.log(list(alone.values()))))))
    assert fact.lo < fact.value < fact.hi
