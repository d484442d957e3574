"""A state in lower precision: what it gains is worth nothing where the gate refuses it."""

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation

CLAIM, SETTING = "gate.state_dtype_worth_it", "mamba_ssm_dtype=bfloat16"


def claim(folder):
    return Derivation(load.load(folder)).claim(CLAIM)


def slower(folder):
    rows = lambda rows: [row | ({"mean_tpot_ms": repr(2 * float(row["mean_tpot_ms"]))} if (row["stage"], row["label"]) == ("knobs", SETTING) else {}) for row in rows]
    rewrite(folder, "search.csv", rows)


def test_answers_that_are_lost_outweigh_any_speed(scratch):
    assert claim(scratch).verdict == "holds"
    rewrite(scratch, "gate.csv", lambda rows: [row | {"correct": "0"} if row["role"] == "numeric" and row["correct"] else row for row in rows])
    found = claim(scratch)
    assert found.verdict == "fails" and found.margin < -0.5


def test_a_slower_state_is_not_worth_it(scratch):
    slower(scratch)
    found = claim(scratch)
    assert found.verdict == "fails" and found.margin < -0.5
