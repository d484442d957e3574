"""How many problems a gate would need: as many as bring the reach down to the room that is left, and not one more."""

import math

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.gate import CONFIDENCE


def parts(derivation, task: str) -> tuple[float, float, float, float]:
    """(problems, problems that would resolve, reach, room to the margin) of the candidate."""
    found = {name: derivation.result(f"gate.candidate.{task}.{name}").fact.value for name in ("would_resolve", "reach", "difference")}
    margin, count = (derivation.result(f"gate.{name}.{task}").fact.value for name in ("margin", "problems"))
    return count, found["would_resolve"], found["reach"] / 100, abs(found["difference"] + margin) / 100


def test_with_scatter_the_reach_shrinks_with_the_root_of_the_number(derivation):
    count, needed, reach, room = parts(derivation, "sampled")
    assert reach * math.sqrt(count / needed) <= room * (1 + 1e-9) < reach * math.sqrt(count / (needed - 1))


def test_where_no_answer_differs_it_is_the_share_that_could_have_stayed_unseen(derivation):
    _, needed, _, room = parts(derivation, "greedy")
    unseen = [1 - (1 - CONFIDENCE) ** (1 / problems) for problems in (needed, needed - 1)]
    assert unseen[0] <= room < unseen[1]


def test_a_gate_of_a_handful_of_problems_asks_for_more_than_it_had(scratch):
    kept = {f"p-{number}" for number in range(5)}
    rewrite(scratch, "gate.csv", lambda rows: [row for row in rows if row["task"] != "greedy" or row["problem"] in kept])
    derivation = Derivation(load.load(scratch), resamples=0)
    count, needed, _, _ = parts(derivation, "greedy")
    claim = derivation.claim("gate.non_inferior.greedy")
    assert count == 5 < needed and claim.verdict == "unresolved"
    assert "gate.candidate.greedy.would_resolve" in claim.evidence and claim.margin == pytest.approx(derivation.result("gate.margin.greedy").fact.value / 100)
