"""Facts and claims about compiled kernels, pushed to each verdict by one edited file."""

import pytest

from tests.derive.edit import remove, rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation


def put(column, value, **where):
    """Change the first row that matches."""

    def change(rows):
        next(row for row in rows if all(row[name] == text for name, text in where.items()))[column] = value
        return rows

    return change


def one_target(rows):
    return [row for row in rows if row["target"] == "sm_90"]


FAILING = [
    ("kernels.one_source", "kernels.csv", put("source_sha", "0" * 16, operator="kda_verify", target="gfx942")),
    ("kernels.no_spills", "kernels.csv", put("spills", "64", operator="kda_prefill", target="sm_100")),
    ("kernels.predicates", "predicates.csv", put("registry_selects", "cpu", build="rocm", device="cuda")),
]


@pytest.mark.parametrize("key, file, change", FAILING, ids=[case[0] for case in FAILING])
def test_one_cell_turns_a_verdict(scratch, key, file, change):
    assert Derivation(load.load(scratch), resamples=0).claim(key).verdict == "holds"
    rewrite(scratch, file, change)
    assert Derivation(load.load(scratch), resamples=0).claim(key).verdict == "fails"


def test_the_hash_of_the_texts_needs_one_target_and_moves_with_any_text(scratch):
    def found():
        return Derivation(load.load(scratch), resamples=0).result("kernels.source").fact.value

    of_all = found()
    assert len(of_all) == 12
    rewrite(scratch, "kernels.csv", FAILING[0][2])
    assert found() != of_all
    rewrite(scratch, "kernels.csv", one_target)
    assert found() == of_all


def test_the_binary_that_spills_is_named(scratch):
    rewrite(scratch, "kernels.csv", FAILING[1][2])
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("kernels.spilled").fact.value == 1
    assert derivation.result("kernels.spilled_kernel").fact.value == "kda_prefill"
    assert derivation.result("kernels.spilled_target").fact.value == "sm_100"


def test_one_target_leaves_the_text_open(scratch):
    rewrite(scratch, "kernels.csv", one_target)
    assert Derivation(load.load(scratch), resamples=0).claim("kernels.one_source").verdict == "unresolved"


def test_a_stage_that_compiled_nothing_says_why(scratch):
    rewrite(scratch, "kernels.csv", lambda rows: [])
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("kernels.binaries").fact.reason == "synthetic: written by a toy cost model for tests, nothing was measured"
    assert derivation.claim("kernels.no_spills").verdict == "missing"


def test_without_the_files_nothing_is_made_up(scratch):
    remove(scratch, "kernels.csv", "predicates.csv")
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("kernels.kernels").fact.reason == "kernels.csv is not part of this campaign"
    assert {derivation.claim(key).verdict for key, _, _ in FAILING} == {"missing"}


def test_described_builds_are_simulated_and_binaries_computed(derivation):
    assert derivation.result("kernels.predicate.is_cuda.amd").fact.status == "simulated"
    assert derivation.result("kernels.kda_verify.gfx942.registers").fact.status == "computed"
    assert derivation.result("kernels.misrouting").fact.value == 4
