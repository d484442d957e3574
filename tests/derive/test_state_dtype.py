"""A state in lower precision: what it gains is worth nothing where the gate refuses it."""

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation

CLAIM, SETTING = "gate.state_dtype_worth_it", "mamba_ssm_dtype=bfloat16"


def claim(folder):
    return Derivation(load.load(folder)).claim(CLAIM)


def slots(folder, with_it: str, base: str):
    """State slots of the setting and of its base."""
    told = {SETTING: {"state_slots": with_it}, "base": {"state_slots": base}}
    rewrite(folder, "search.csv", lambda rows: [row | told.get(row["label"], {}) if row["stage"] == "knobs" else row for row in rows])


def slower(folder):
    rows = lambda rows: [row | ({"mean_tpot_ms": repr(2 * float(row["mean_tpot_ms"]))} if (row["stage"], row["label"]) == ("knobs", SETTING) else {}) for row in rows]
    rewrite(folder, "search.csv", rows)


def test_answers_that_are_lost_outweigh_any_speed(scratch):
    assert claim(scratch).verdict == "holds"
    rewrite(scratch, "gate.csv", lambda rows: [row | {"correct": "0"} if row["role"] == "numeric" and row["correct"] else row for row in rows])
    found = claim(scratch)
    assert found.verdict == "fails" and found.margin < -0.5


def test_as_many_slots_are_no_gain(scratch):
    slots(scratch, "32", "32")
    slower(scratch)
    assert claim(scratch).verdict == "fails"


def test_room_alone_is_a_gain(scratch):
    slots(scratch, "64", "32")
    slower(scratch)
    found = claim(scratch)
    assert found.verdict == "holds" and found.margin == pytest.approx(0.693, abs=1e-3)


def test_boots_that_differ_in_their_slots_leave_the_speed(scratch):
    """Which of them a server would have is then not known."""
    rewrite(
        scratch, "search.csv", lambda rows: [row | {"state_slots": str(32 + int(row["boot"]) % 2)} if row["stage"] == "knobs" else row for row in rows]
    )
    derivation = Derivation(load.load(scratch))
    assert derivation.result("gate.state.slots").fact.reason == "boots of one setting differ in their state slots"
    assert derivation.claim(CLAIM).verdict == "holds"
