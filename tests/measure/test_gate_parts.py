"""The gate's pure parts: scorer, statistics, checks."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import csvio, gate
from engine.bench import faults, gate_checks, gate_plan
from engine.bench.gate_score import degenerate, longest_run, repetition, scored
from engine.bench.gate_stats import mcnemar, paired, sign_flip
from engine.bench.stages import Gate
from engine.config import EngineConfig
from tests.data.synthetic_gate import STAGE, answer_row


def row(output: str, expected: int | None = 7, ids: str = "5 6 7", reason: str = "stop") -> dict:
    return scored({"output": output, "expected": expected, "output_ids": ids, "finish_reason": reason})


def test_an_answer_is_read_from_its_sentence_and_from_nothing_else() -> None:
    assert row(" 3 + 4 = 7. The answer is 7.\n")["correct"] == 1
    assert row(" 3 + 4 = 7. The answer is 8.\n")["correct"] == 0
    silent = row(" 7 7 7", reason="length")
    assert (silent["answered"], silent["correct"], silent["truncated"]) == (0, 0, 1)
    assert row("anything", expected=None)["correct"] is None


def test_good_prose_that_repeats_itself_is_not_degenerate() -> None:
    """Thirty percent repeated 8-grams with no token standing twice in a row: a summary of repetitive text."""
    assert not degenerate(0.295, 1)
    assert degenerate(0.3, 9) and degenerate(0.7, 1) and degenerate(0.0, 30)


@given(st.lists(st.integers(0, 5), max_size=40))
def test_repetition_and_runs_are_bounded(ids: list[int]) -> None:
    share = repetition(ids)
    assert share is None if len(ids) < 8 else 0 <= share < 1
    assert longest_run(ids) <= len(ids)
    assert longest_run([3] * 5 + ids[:0]) == 5


def test_mcnemar_is_the_exact_binomial() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(0, 5) == pytest.approx(2 / 32)
    assert mcnemar(3, 3) == 1.0
    scipy = pytest.importorskip("scipy.stats")
    assert mcnemar(2, 9) == pytest.approx(scipy.binomtest(2, 11).pvalue)


def test_margins_decide_between_three_verdicts() -> None:
    good = [[1]] * 200
    assert paired(good, good, 0.03).verdict == "non-inferior"
    few = paired([[1]] * 20, [[1]] * 20, 0.03)
    assert few.verdict == "not resolved" and few.needed > 20
    worse = paired(good, [[0]] * 40 + [[1]] * 160, 0.03)
    assert worse.verdict == "inferior" and worse.lost == 40 and worse.mcnemar_p < 1e-9
    assert worse.sigma is not None and worse.sigma < -5


@pytest.mark.parametrize("flips", [0, 4])
def test_the_problems_it_asks_for_would_resolve(flips: int) -> None:
    a = [[1]] * flips + [[0]] * flips + [[1]] * 12
    b = [[0]] * flips + [[1]] * flips + [[1]] * 12
    found = paired(a, b, 0.03)
    assert found.verdict == "not resolved"
    times = math.ceil(found.needed / len(a))
    assert paired(a * times, b * times, 0.03).verdict == "non-inferior"


def test_repeats_of_a_problem_are_one_cluster() -> None:
    """Eight identical repeats say no more than one."""
    once = paired([[1], [0], [1]] * 20, [[1], [1], [0]] * 20, 0.05)
    eight = paired([[1] * 8, [0] * 8, [1] * 8] * 20, [[1] * 8, [1] * 8, [0] * 8] * 20, 0.05)
    assert once.lo == pytest.approx(eight.lo) and once.mean == pytest.approx(eight.mean)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
def test_sign_flip_is_a_probability_and_symmetric(pairs: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    p = sign_flip(a, b)
    assert 0 < p <= 1 and p == pytest.approx(sign_flip(b, a))


def rows_of(change=None) -> list[dict]:
    draw = random.Random(3)
    counts = {"greedy": (STAGE.problems, 1), "sampled": (STAGE.sampled_problems, STAGE.repeats), "text": (STAGE.texts, STAGE.text_repeats)}
    rows = [
        answer_row(config, task, number, repeat, draw)
        for config in gate_plan.configs(STAGE)
        for task in config.tasks
        for number in range(counts[task][0])
        for repeat in range(counts[task][1])
    ]
    return [scored({**row, **(change(row) or {})}) for row in rows] if change else rows


def judged(rows: list[dict]) -> tuple[list, str]:
    configs = gate_plan.configs(STAGE)
    checks = gate_checks.verdicts(rows, STAGE, configs)
    return checks, gate_checks.overall(checks, configs)


def outcome_of(change, config: str) -> str:
    return gate_checks.outcome(judged(rows_of(change))[0], config)


def test_a_clean_campaign_passes_and_its_broken_configuration_fails() -> None:
    checks, whole = judged(rows_of())
    assert whole == "pass", [check for check in checks if check.verdict != "pass"]
    assert gate_checks.outcome(checks, gate_plan.BROKEN) == "fail"
    assert [check.name for check in checks if check.verdict == "fail"] == ["variety"]


def only(config: str, task: str, **changes):
    return lambda row: changes if (row["config"], row["task"]) == (config, task) else None


@pytest.mark.parametrize(
    ("change", "config"),
    [
        (only("dspark-g3", "greedy", output=" The answer is 0.\n"), "dspark-g3"),
        (only("dspark-g3", "sampled", output=" no answer"), "dspark-g3"),
        (only("dspark-g3", "sampled", finish_reason="length"), "dspark-g3"),
        (only("dspark-g3", "greedy", output_ids="9 " * 40), "dspark-g3"),
        (only("dspark-g3", "greedy", accepted=0), "dspark-g3"),
        (only("base-again", "greedy", output_ids="1 2 3"), "base-again"),
        (only("chunked_prefill_size=32", "greedy", logprob_sha="000000000000"), "chunked_prefill_size=32"),
        (only("chunked_prefill_size=32", "greedy", accepted_histogram="8;0;0;0"), "chunked_prefill_size=32"),
        (lambda row: {"logprob_sha": "0" * 12} if row["logprob_sha"] else None, "state-bf16"),
    ],
)
def test_each_clause_can_fail(change, config: str) -> None:
    if config == "state-bf16" and "mamba_ssm_dtype" not in EngineConfig.__dataclass_fields__:
        pytest.skip("this engine keeps its state in float32")
    assert outcome_of(change, config) == "fail"


def test_a_broken_configuration_that_does_not_fail_fails_the_gate() -> None:
    def healed(row):
        return {"output_ids": f"{row['problem'].split('-')[1]} {row['repeat']} 5"} if row["task"] == "text" else None

    checks, whole = judged(rows_of(healed))
    assert gate_checks.outcome(checks, gate_plan.BROKEN) == "pass" and whole == "fail"


BESIDE_BASE = [config for config in gate_plan.configs(STAGE) if config.role != "base"]


@pytest.mark.parametrize("status", [None, "crash", "oom", "timeout", "rejected", "skipped"])
@pytest.mark.parametrize("config", BESIDE_BASE, ids=lambda config: config.arm.label)
def test_a_configuration_without_an_answer_does_not_pass(config: gate_plan.Config, status: str | None) -> None:
    """Whether a row tells how it failed or all its rows are gone; only a recorded skip takes it out."""
    label = config.arm.label
    rows = [row for row in rows_of() if row["config"] != label]
    if status:
        rows.append(csvio.skipped("gate", "the reason", status, campaign="synthetic", config=label, role=config.role))
    found = gate.section(rows, STAGE)
    alone = config.role == "candidate"  # the one candidate: without it nothing was judged
    if status == "skipped":
        assert found["verdict"] == ("not resolved" if alone else "pass") and label not in found["configs"] and "unanswered" not in found
        return
    assert found["verdict"] == ("fail" if alone else "not resolved")
    assert found["configs"][label]["outcome"] == ("fail" if alone else "not resolved")
    (lost,) = found["unanswered"]
    assert (lost["config"], lost["role"], lost["status"]) == (label, config.role, status)
    control = {"control": "off_off_lossless", "broken": "broken_fails", "numeric": "state_moves"}.get(config.role)
    assert {name for name, value in found["controls"].items() if value is not True} == ({control} if control else set())
    csvio.render("gate", rows, "gate.csv")


@pytest.mark.parametrize("task", ["greedy", "sampled", "text"])
@pytest.mark.parametrize("config", [config for config in BESIDE_BASE if len(config.tasks) > 1], ids=lambda config: config.arm.label)
def test_a_configuration_without_one_of_its_tasks_does_not_pass(config: gate_plan.Config, task: str) -> None:
    if task in config.tasks and (config.role, task) != ("broken", "sampled"):
        assert gate.section([row for row in rows_of() if (row["config"], row["task"]) != (config.arm.label, task)], STAGE)["verdict"] != "pass"


@pytest.mark.parametrize("ids", ["9 " * 24, "5 6 " * 12])
def test_sampled_text_that_goes_in_circles_fails_a_candidate(ids: str) -> None:
    """A few of its texts are enough, and one answer alone is not: the checkable answers are many, and none of them goes in circles."""
    texts = [(f"p-{number}", repeat) for number in range(STAGE.texts) for repeat in range(STAGE.text_repeats)]
    for count, verdict in ((1, "pass"), (3, "fail")):
        chosen = set(texts[:count])

        def circles(row, chosen=chosen):
            return {"output_ids": f"{row['repeat']} {ids}"} if (row["config"], row["task"]) == ("dspark-g3", "text") and (row["problem"], row["repeat"]) in chosen else None

        own = {check.name: check.verdict for check in judged(rows_of(circles))[0] if check.config == "dspark-g3"}
        assert own["text degenerate"] == verdict and own["degenerate"] == "pass"


def test_a_broken_configuration_is_caught_by_the_check_that_sees_its_fault_alone() -> None:
    """Another check that fails, by chance or by another fault, is no catch."""

    def healed(row):
        if row["config"] != "broken":
            return None
        return {"output_ids": f"{row['problem'].split('-')[1]} {row['repeat']} 5"} if row["task"] == "text" else {"output": " no answer", "finish_reason": "length"}

    found = gate.section(rows_of(healed), STAGE)
    assert found["configs"]["broken"]["outcome"] == "fail" and found["verdict"] == "fail" and found["controls"]["broken_fails"] is False
    assert found["broken"] == {"config": "broken", "fault": "greedy-verify", "must_fail": ["variety"], "failed": ["sampled accuracy", "truncated", "no answer"]}
    assert gate.section(rows_of(), STAGE)["broken"]["failed"] == ["variety"]


def test_every_fault_that_the_gate_installs_has_checks_that_must_see_it() -> None:
    assert {config.fault for config in gate_plan.configs(STAGE) if config.fault} <= set(faults.FAULTS) == set(gate_checks.MUST_FAIL)


def test_silent_knobs_that_this_engine_lacks_are_left_out() -> None:
    labels = [config.arm.label for config in gate_plan.configs(Gate(silent=(("no_such_setting", 1),)))]
    assert "no_such_setting=1" not in labels and labels[0] == gate_plan.BASE


def test_where_plain_decoding_knows_no_answer_none_can_be_lost() -> None:
    rows = [scored({**row, "output": " no answer"}) if row["expected"] is not None else row for row in rows_of()]
    (check,) = [one for one in judged(rows)[0] if (one.config, one.name) == ("dspark-g3", "greedy accuracy")]
    assert check.verdict == "not resolved" and "none can be lost" in check.detail
