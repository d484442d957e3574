"""What the search's manifest says of its knobs and of itself reaches the facts, older manifests included."""

import json
from pathlib import Path

import pytest

from engine.bench.binding import INERT as INERT_OF_SEARCH
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.alarms import STAGES
from workflow.derive.facts.binding import INERT, KNOBS
from workflow.derive.mutation import Mutation, Prover

ARCHIVED = Path(__file__).resolve().parents[2] / "workflow/campaigns/xeon-2core"


@pytest.fixture(scope="module")
def archived():
    return Derivation(load.load(ARCHIVED), resamples=0)


def told(folder: Path, change) -> Derivation:
    path = folder / "search.manifest.json"
    data = json.loads(path.read_text("utf8"))
    change(data["search"])
    path.write_text(json.dumps(data), "utf8")
    return Derivation(load.load(folder), resamples=0)


def test_every_setting_says_what_the_manifest_says(archived):
    about = json.loads((ARCHIVED / "search.manifest.json").read_text("utf8"))["search"]["knobs"]
    labels = [one["label"] for one in about if one["regime"] == "matched"]
    assert INERT == INERT_OF_SEARCH and len(labels) == archived.result("knobs.tried").fact.value
    for attempt, label in enumerate(labels, 1):
        for regime, name in (("at_load", label), ("bound", f"{label}@bind")):
            one = next((one for one in about if one["label"] == name), None)
            facts = {what: archived.result(f"knobs.t{attempt}.{regime}.{what}").fact for what in ("binds", "verdict", "why")}
            if one is None:
                assert all(fact.missing and name in fact.reason for fact in facts.values())
                continue
            assert facts["why"].value == one["why"]
            assert facts["binds"].value == ("could bind" if one["could_bind"] else "could not bind")
            # in files of an older search a knob that could do nothing may stand as better or worse
            inert = one["could_bind"] is False and one["knob"] != "radix_cache"
            assert facts["verdict"].value == (INERT if inert else one["verdict"])


def test_what_the_search_can_resolve_and_how_often_it_errs_are_facts(archived):
    about = json.loads((ARCHIVED / "search.manifest.json").read_text("utf8"))["search"]
    for stage in STAGES:
        for when in ("planned", "achieved"):
            fact, ratio = archived.result(f"resolvable.{stage}.{when}").fact, about[f"{when}_detectable"].get(stage)
            assert fact.missing if ratio is None else fact.value == pytest.approx(100 * (ratio - 1))
    assert archived.result("alarms.rate").fact.value == pytest.approx(100 * about["false_alarm"]["rate"])
    assert 0 < archived.result("shape.rejected").fact.value < 100
    for lost in ("rejected", "thrown_away"):
        share, minutes = (archived.result(f"shape.{lost}{what}").fact.value for what in ("", "_minutes"))
        assert minutes == pytest.approx(share / 100 * archived.result("search.minutes").fact.value)


def test_a_knob_that_could_bind_nowhere_does_not_move_and_one_of_many_is_adjusted(scratch):
    def change(search):
        for place, one in enumerate(one for one in search["knobs"] if one["knob"] == "radix_cache"):
            one |= {"could_bind": False, "p": 0.0}
        for one in search["knobs"]:
            one["p"] = 0.03 if one["knob"] == "mamba_ssm_dtype" else one["p"]

    derivation = told(scratch, change)
    assert derivation.claim("knobs.radix_cache.moves").verdict == "fails"
    assert derivation.claim("knobs.radix_cache.could_bind").verdict == "fails"
    assert derivation.result("knobs.mamba_ssm_dtype.p").fact.value == pytest.approx(0.06), "two regimes, so twice the smaller p"
    assert derivation.claim("knobs.mamba_ssm_dtype.moves").verdict == "unresolved"


def test_an_older_manifest_without_these_fields_leaves_them_missing_with_a_reason(scratch):
    def change(search):
        for name in ("knobs", "false_alarm", "planned_detectable", "achieved_detectable"):
            del search[name]

    derivation = told(scratch, change)
    keys = ["alarms.rate", "resolvable.window.planned", "knobs.t1.at_load.verdict", "knobs.t1.at_load.why", *(f"knobs.{knob}.p" for knob in KNOBS)]
    for key in keys:
        fact = derivation.result(key).fact
        assert fact.missing and "search.manifest.json has no search." in fact.reason, key
    assert {derivation.claim(f"knobs.{knob}.moves").verdict for knob in KNOBS} == {"missing"}
    assert derivation.claim("method.false_alarms").verdict == "missing"


def test_a_field_inside_a_list_of_a_manifest_moves_what_rests_on_it(measured):
    prover = Prover(measured)
    moved = prover.moved(Mutation("search.manifest.json", "search.knobs.0.why", (), ("another value",)))
    assert list(moved) == ["knobs.t1.at_load.why"]


def test_a_setting_that_could_do_nothing_is_not_the_best(scratch):
    def inert(*labels):
        def change(search):
            for one in search["knobs"]:
                if one["label"] in labels:
                    one |= {"could_bind": False, "verdict": INERT}

        return change

    fastest = Derivation(load.load(scratch), resamples=0)
    assert fastest.result("knobs.best_label").fact.value == "mamba_ssm_dtype=bfloat16"
    derivation = told(scratch, inert("mamba_ssm_dtype=bfloat16"))
    assert derivation.result("knobs.best_label").fact.value == "chunked_prefill_size=64"
    assert derivation.result("knobs.best_ratio").fact.value < fastest.result("knobs.best_ratio").fact.value
    derivation = told(scratch, inert("chunked_prefill_size=64"))
    assert derivation.result("knobs.best_label").fact.reason == "no setting that was tried could have an effect at the search's load"
    assert derivation.claim("knobs.best_pays").verdict == "missing"
