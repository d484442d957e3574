"""Holm over the headline claims: the list is that of the text, the adjusted p decides, and one wrong alarm among many is held back."""

import math
import re
from pathlib import Path

import pytest
from scipy import stats

from engine.bench.multiplicity import holm
from tests.data.synthetic import Physics, Plan, write_campaign
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.headline import BOUNDED, GROUPS, TESTED

ADVICE = Path(__file__).resolve().parents[2] / "templates/content"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_claim_of_the_advice_is_a_headline_claim(language):
    text = (ADVICE / language / "01-run-this.md").read_text("utf8")
    stated = set(re.findall(r'{% claim "([\w.]+)" %}', text))
    assert stated == {*TESTED, *BOUNDED}, "workflow/derive/headline.py lists what the advice rests on"
    assert len(set(TESTED)) == len(TESTED) == sum(len(claims) for _, claims in GROUPS)


def test_the_adjusted_values_are_holms_over_those_that_can_be_judged(derivation):
    known = [key for key in TESTED if not derivation.result(f"headline.{key}.p").fact.missing]
    p = [derivation.result(f"headline.{key}.p").fact.value for key in known]
    assert [derivation.result(f"headline.{key}.adjusted").fact.value for key in known] == pytest.approx(holm(p))
    assert derivation.result("headline.family").fact.value == len(known) > 5
    assert derivation.result("headline.resolved").fact.value == sum(one < 0.05 for one in holm(p))


def test_a_p_value_is_students_on_the_margin(derivation):
    claim, p = derivation.claim("figures.verify_cheap"), derivation.result("headline.figures.verify_cheap.p").fact.value
    aa = derivation.campaign.find("noise", "noise")
    logs = [float(x) for x, metric in zip(aa.columns["log_ratio"], aa.columns["metric"]) if metric == "mean_tpot_ms"]
    shown = derivation.result("window.verify_ratio.w4").fact.repeats
    own, floor = stats.tstd([math.log(one) for one in shown]), stats.tstd(logs)
    sd, df = (own, len(shown) - 1) if own > floor else (floor, len(logs) - 1)
    assert p == pytest.approx(2 * stats.t.sf(abs(claim.margin) / (sd / len(shown) ** 0.5), df), rel=0.02)


def test_a_claim_that_leaves_the_noise_alone_is_held_back_among_many(derivation, monkeypatch):
    key = "lanes.spec_wins_at_one"
    assert derivation.claim(key).verdict == "holds"
    for value, verdict in ((0.0499, "holds"), (0.0501, "unresolved"), (0.9, "unresolved")):
        other = Derivation(derivation.campaign)
        result = other.result(f"headline.{key}.adjusted")
        monkeypatch.setattr(result.sample, "values", result.sample.values * 0 + value)
        claim = other.claim(key)
        assert claim.verdict == verdict and f"headline.{key}.adjusted" in claim.evidence
        assert ("Holm" in claim.reason) == (verdict == "unresolved")


def test_no_headline_claim_holds_or_fails_without_a_small_adjusted_p(tmp_path):
    physics = Physics(boot_noise=0.08, step_noise=0.05)
    derivation = Derivation(load.load(write_campaign(tmp_path, physics, Plan(repeats=3, prompts=3, osl=24, isls=(64,), concurrencies=(1, 4, 16)))))
    decided = 0
    for key in TESTED:
        adjusted = derivation.result(f"headline.{key}.adjusted").fact
        if derivation.claim(key).verdict in ("holds", "fails"):
            assert adjusted.value < 0.05
            decided += 1
        elif adjusted.value is not None and adjusted.value < 0.05:
            assert derivation.claim(key).reason
    assert decided < len(TESTED)
