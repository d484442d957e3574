"""What a campaign measured is counted from its files: present, present without a good row, absent."""

import pytest

from tests.data.partial import STAGES, only_failed
from tests.data.synthetic import Physics, Plan, write_campaign
from tests.derive.edit import remove
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.coverage import SWEEPS
from workflow.plan import STAGES as RULES

PLAN = Plan(repeats=1, prompts=2, osl=16, isls=(64, 512), concurrencies=(1, 4), gammas=(1, 3), contents=("arith", "code", "en", "zh"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_campaign(tmp_path_factory.mktemp("whole") / "synthetic", Physics(), PLAN)


def verdicts(folder):
    derivation = Derivation(load.load(folder))
    return {key: derivation.claim(key).verdict for key in derivation.claim_definitions if key.startswith("measured.")}


def test_what_is_there_holds_and_says_how_many_rows(whole):
    found = verdicts(whole)
    assert all(found[f"measured.{sweep}"] == "holds" for sweep in SWEEPS)
    derivation = Derivation(load.load(whole))
    assert derivation.result("measured.osl").fact.value == len(load.load(whole).find("points", "osl").select({"stage": "osl"}))
    assert found["measured.search.curve"] == "missing"


def test_every_sweep_that_can_be_measured_is_counted():
    assert set(SWEEPS) == {stage.name for stage in RULES if stage.has_parts}


@pytest.mark.parametrize("sweep", SWEEPS)
def test_what_is_taken_away_is_missing_and_nothing_else_is(whole, tmp_path, sweep):
    before, folder = verdicts(whole), tmp_path / "synthetic"
    copy(whole, folder)
    remove(folder, *STAGES[sweep])
    changed = {key for key, verdict in verdicts(folder).items() if verdict != before[key]}
    expected = {f"measured.{sweep}"} | ({"measured.modes", "measured.trace"} if sweep == "window" else set())
    assert changed == expected


def test_what_failed_throughout_fails(whole, tmp_path):
    folder = tmp_path / "synthetic"
    copy(whole, folder)
    only_failed(folder)
    found = verdicts(folder)
    assert all(found[f"measured.{sweep}"] == "fails" for sweep in SWEEPS)


def copy(source, target):
    target.mkdir()
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
