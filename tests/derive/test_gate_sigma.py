"""The pooled standard error and sigma of the gate, as evaluation harnesses print them; and plain decoding held against itself."""

import json

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation


@pytest.mark.parametrize("task", ["greedy", "sampled"])
def test_they_are_those_that_the_gate_itself_wrote_down(folder, derivation, task):
    checks = json.loads((folder / "gate.manifest.json").read_text("utf8"))["gate"]["checks"]
    own = next(check["numbers"] for check in checks if check["config"].startswith("dspark") and check["name"] == f"{task} accuracy")
    found = {name: derivation.result(f"gate.candidate.{task}.{name}").fact for name in ("pooled_sem", "sigma")}
    assert own["pooled_sem"] > 0 and found["pooled_sem"].value == pytest.approx(100 * own["pooled_sem"])
    assert found["sigma"].value == pytest.approx(own["sigma"])


def test_without_scatter_there_is_nothing_to_divide_by(scratch):
    rewrite(scratch, "gate.csv", lambda rows: [row | {"correct": row["correct"] and "1"} for row in rows])
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("gate.candidate.greedy.pooled_sem").fact.value == 0
    fact = derivation.result("gate.candidate.greedy.sigma").fact
    assert fact.missing and fact.reason.startswith("neither score scatters")


def test_a_control_that_differs_is_counted(scratch):
    def change(rows):
        first = next(row for row in rows if row["role"] == "control")
        first["output_ids"] += " 7"
        return rows

    rewrite(scratch, "gate.csv", change)
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("gate.control.outputs.differing").fact.value == 1
    assert derivation.claim("gate.control_equal").verdict == "fails" and derivation.claim("gate.lossless").verdict == "holds"
