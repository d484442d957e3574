"""How many problems a gate would need: as many as bring the reach down to the room that is left, and not one more."""

import math

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.gate import CONFIDENCE, quantile


def few(folder, task: str, problems: int, **edit) -> Derivation:
    """The campaign with that many problems in one half; `edit` is what becomes of the candidate's first."""
    kept = [f"p-{number}" for number in range(problems)]

    def change(rows):
        rows = [row for row in rows if row["task"] != task or row["problem"] in kept]
        return [row | edit if (row["role"], row["task"], row["problem"]) == ("candidate", task, kept[0]) else row for row in rows]

    rewrite(folder, "gate.csv", change)
    return Derivation(load.load(folder), resamples=0)


def parts(derivation, task: str) -> tuple[float, float, float]:
    """(problems that would resolve, reach, room to the margin) of the candidate."""
    found = {name: derivation.result(f"gate.candidate.{task}.{name}").fact.value for name in ("would_resolve", "reach", "difference")}
    margin = derivation.result(f"gate.margin.{task}").fact.value
    return found["would_resolve"], found["reach"] / 100, abs(found["difference"] + margin) / 100


def test_with_scatter_t_belongs_to_the_number_that_is_asked_for(scratch):
    read = few(scratch, "sampled", 4, correct="0")
    needed, reach, room = parts(read, "sampled")
    scatter = reach * math.sqrt(4) / quantile(3)
    reaches = [quantile(count - 1) * scatter / math.sqrt(count) for count in (needed, needed - 1)]
    assert scatter > 0 and needed > 4 and reaches[0] <= room * (1 + 1e-9) < reaches[1]


def test_what_is_resolved_asks_for_nothing(derivation):
    fact = derivation.result("gate.candidate.sampled.would_resolve").fact
    assert derivation.claim("gate.non_inferior.sampled").verdict == "holds"
    assert fact.missing and fact.reason == "the problems that were asked tell the difference from the margin already"


def test_where_no_answer_differs_it_is_the_share_that_could_have_stayed_unseen(scratch):
    derivation = few(scratch, "greedy", 5)
    needed, _, room = parts(derivation, "greedy")
    unseen = [1 - (1 - CONFIDENCE) ** (1 / problems) for problems in (needed, needed - 1)]
    assert unseen[0] <= room < unseen[1] and needed > 5
    claim = derivation.claim("gate.non_inferior.greedy")
    assert claim.verdict == "unresolved" and "gate.candidate.greedy.would_resolve" in claim.evidence
    assert claim.margin == pytest.approx(derivation.result("gate.margin.greedy").fact.value / 100)
