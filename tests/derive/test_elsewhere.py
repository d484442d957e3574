"""What others found beside this campaign's own: the same side of one, another, or too near to tell."""

import csv
import math

import pytest

from tests.derive.edit import seal
from tests.derive.test_outside import observe
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.elsewhere import QUESTIONS
from workflow.plan import CAMPAIGNS, ROOT

ARCHIVE, CITED = "xeon-2core", "k3-mi355x"
SAME = {"loaded": lambda facts: 1 / facts("rows.lanes.ratio"), "context": lambda facts: facts("rows.isl.accept_longest") / facts("rows.isl.accept_shortest"),
        "cap": lambda facts: 1 / facts("rows.cap.gain")}  # fmt: skip
"""Question -> what the rows of the cited campaign say."""


def beside(folder, question: str, ratio: float):
    """The claim's verdict where an outside observer found `ratio`."""
    observe(folder, (ratio, ratio))
    path = folder / "external.csv"
    text = path.read_text("utf8").replace("accept_0", f"ratio_{question}")
    path.write_text(text, "utf8")
    seal(path, 1)
    return Derivation(load.load(folder)).claim(f"elsewhere.{question}.same_side")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_side_of_one_decides_and_not_the_size(scratch, values, question):
    own = values.fact(f"elsewhere.{question}.here").value
    far = 10.0 if own > 1 else 0.1
    same, other = (beside(scratch, question, ratio) for ratio in (far, 1 / far))
    assert same.margin == pytest.approx(abs(math.log(own))) and other.margin == pytest.approx(-same.margin)
    assert {same.verdict, other.verdict} in ({"holds", "fails"}, {"unresolved"})
    assert same.verdict != "fails" and other.verdict != "holds"


def test_some_question_is_resolved_and_one_without_an_observer_is_missing(scratch, derivation):
    assert all(derivation.claim(f"elsewhere.{question}.same_side").verdict == "missing" for question in QUESTIONS)
    assert beside(scratch, "loaded", 0.1).verdict in ("holds", "fails")


def test_an_observer_who_found_neither_side_leaves_it_open(scratch):
    assert beside(scratch, "loaded", 1.0).verdict == "unresolved"


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_archive_cites_what_the_rows_of_the_other_campaign_say(question):
    with (ROOT / CAMPAIGNS / ARCHIVE / "external.csv").open(encoding="utf8") as file:
        cited = {row["id"]: row for row in csv.DictReader(file)}[f"ratio_{question}"]
    found = Derivation(load.load(ROOT / CAMPAIGNS / CITED), resamples=0)
    assert float(cited["low"]) == float(cited["high"]) == pytest.approx(SAME[question](lambda key: found.result(key).fact.value), abs=5e-4)
