from __future__ import annotations

import pytest

from engine.bench import metrics
from engine.bench.cells import Cell, dspark
from engine.bench.rows import decode_columns, request_rows, result_columns, step_columns, trace_rows
from engine.bench.verdicts import against_base, pair_values
from engine.bench.workloads import Prompt, Workload


def step(kind: str, start_s: float, step_ms: float, emitted: int, draft: float = 0.0, verify: float = 0.0, commit: float = 0.0) -> dict:
    return {
        "kind": kind,
        "start_s": start_s,
        "step_ms": step_ms,
        "emitted": emitted,
        "draft_ms": draft,
        "verify_ms": verify,
        "commit_ms": commit,
        "kv_usage": 0.1,
        "state_usage": 0.2,
        "queued": 0,
        "running": 1,
        "positions": 4,
        "committed": emitted,
        "blocked_by": "",
    }


def record(number: int, tokens: list[int], queued: float, first: float, end: float, histogram: list[int], reason: str = "length") -> dict:
    rounds = sum(histogram)
    return {
        "request_id": f"r{number}",
        "isl": 10,
        "token_ids": tokens,
        "queued_s": queued,
        "scheduled_s": queued,
        "first_token_s": first,
        "end_s": end,
        "emissions_s": [first, end],
        "rounds": rounds,
        "drafted": rounds * (len(histogram) - 1),
        "accepted": sum(i * n for i, n in enumerate(histogram)),
        "accepted_histogram": histogram,
        "finish_reason": reason,
        "trace": [],
    }


PROMPTS = [Prompt("code-0@9", "code", tuple(range(10))), Prompt("code-1@9", "code", tuple(range(10)))]
ANSWER = {
    "duration_s": 0.5,
    "requests": [record(0, [5, 6, 7, 8, 9], 0.0, 0.1, 0.3, [1, 1, 0]), record(1, [5, 5, 5, 5, 5, 5], 0.1, 0.2, 0.5, [0, 1, 1])],
    "steps": [
        step("prefill", 0.0, 90.0, 1),
        step("round", 0.1, 40.0, 3, 10, 20, 5),
        step("round", 0.142, 60.0, 2, 10, 40, 5),
        step("prefill", 0.25, 80.0, 1),
        step("round", 0.35, 50.0, 4, 10, 30, 5),
    ],
}


def test_acceptance_is_pooled_over_the_set() -> None:
    row = result_columns(PROMPTS, ANSWER, 1)
    # four rounds, four accepted drafts: not the mean of 1.5 and 2.5
    assert (row["rounds"], row["accepted"], row["drafted"]) == (4, 4, 8)
    assert row["accept_length"] == 2.0
    assert row["emitted_per_round"] == (4 + 5) / 4


def test_prefill_stays_out_of_the_step_means() -> None:
    row = decode_columns(ANSWER["steps"])
    assert (row["steps"], row["step_ms"], row["verify_ms"], row["decode_tokens"]) == (3, 50.0, 30.0, 9)
    # one pair of neighbouring rounds, 2 ms apart
    assert row["between_ms"] == pytest.approx(2.0)
    assert row["other_ms"] == pytest.approx(5.0)
    assert row["decode_throughput"] == pytest.approx(9 / (0.150 + 3 * 0.002))


def test_latencies_and_rates() -> None:
    row = result_columns(PROMPTS, ANSWER, 1)
    assert row["mean_tpot_ms"] == pytest.approx((200 / 4 + 300 / 5) / 2)
    assert row["mean_ttft_ms"] == pytest.approx(100.0)
    assert row["mean_e2e_ms"] == pytest.approx(350.0)
    assert row["output_throughput"] == pytest.approx(11 / 0.5)
    assert row["concurrency"] == pytest.approx(0.7 / 0.5)
    assert row["p99_ttft_ms"] is None


def test_failed_requests_are_counted_and_kept_out() -> None:
    refused = {**record(1, [], 0.1, 0.0, 0.1, [0, 0, 0], "error: too long"), "first_token_s": None, "emissions_s": []}
    answer = {**ANSWER, "requests": [ANSWER["requests"][0], refused]}
    row = result_columns(PROMPTS, answer, 1)
    assert (row["completed"], row["failed"], row["rounds"]) == (1, 1, 2)
    ok, failed = request_rows("x", PROMPTS, answer["requests"])
    assert (ok["status"], failed["status"], failed["ttft_ms"], failed["output_sha"]) == ("ok", "failed", None, None)
    assert ok["accepted_histogram"] == "1;1;0"


def test_a_cell_in_which_no_request_completed_is_a_row_with_its_reason() -> None:
    refused = {**record(0, [], 0.0, 0.0, 0.0, [0, 0, 0], "error: too long"), "first_token_s": None, "emissions_s": []}
    row = result_columns(PROMPTS[:1], {"duration_s": 0.0, "requests": [refused], "steps": []}, 1)
    assert (row["status"], row["completed"], row["failed"]) == ("rejected", 0, 1)
    assert "error: too long" in row["note"]


STEP_COUNTS = ("retracted", "blocked_by_cap", "blocked_by_state_slots", "blocked_by_kv_pages", "blocked_by_prefill_budget", "blocked_by_new_token_reserve")
UNSAID = {"cached_tokens": None, "retractions": None, "drafted": None, "accepted": None, "rounds": None, "accepted_histogram": []}
KNOWN_OF_ANY_SERVER = {"failed", "truncated"}
"""Zero because the client itself counted none."""


@pytest.mark.parametrize("served", [False, True])
def test_what_was_not_counted_is_empty_and_never_zero(served: bool) -> None:
    """Of every column: with all that a backend may leave out left out, no cell says zero of it."""
    silent = {**ANSWER, "requests": [{**one, **UNSAID} for one in ANSWER["requests"]], "steps": [{**one, "blocked_by": None} for one in ANSWER["steps"]]}
    if served:
        silent |= {"steps": [], "log_step_ms": [], "acceptance": None}
    row = result_columns(PROMPTS, silent, 1)
    told = set() if served else {"queue_max"}
    assert {name for name, value in row.items() if value == 0} <= KNOWN_OF_ANY_SERVER | told
    assert all(row.get(name) is None for name in STEP_COUNTS)
    for request in request_rows("x", PROMPTS, silent["requests"]):
        assert not [name for name, value in request.items() if value == 0 and name not in ("queued_s", "scheduled_s")]


@pytest.mark.parametrize(("counts", "total"), [([0, 2, 1], 3), ([0, 0], 0), ([0, None], None), ([None], None), ([], None)])
def test_retractions_are_a_sum_only_where_every_step_counts_them(counts: list[int | None], total: int | None) -> None:
    steps = [{**step("round", 0.1 * at, 1.0, 1), "retracted": count} for at, count in enumerate(counts)]
    assert step_columns(steps)["retracted"] == total


def test_steps_that_say_what_they_waited_for_are_counted_by_reason() -> None:
    steps = [{**step("round", 0.1 * at, 1.0, 1), "blocked_by": why} for at, why in enumerate(("", "cap", "cap", "kv_pages"))]
    row = step_columns(steps)
    assert (row["blocked_by_cap"], row["blocked_by_kv_pages"], row["blocked_by_prefill_budget"]) == (2, 1, 0)
    assert "blocked_by_cap" not in step_columns([*steps, {**steps[0], "blocked_by": None}])


@pytest.mark.parametrize("arrivals", [{}, {"r0": 0.0, "r1": 0.05}])
def test_a_client_over_http_says_how_late_and_how_busy_it_was_in_either_loop(arrivals: dict[str, float]) -> None:
    served = {**ANSWER, "steps": [], "log_step_ms": [], "arrivals_s": arrivals, "client": {"loop_lag_ms": 1.5, "cpu_share": 0.25}}
    row = result_columns(PROMPTS, served, 1)
    assert (row["client_loop_lag_ms"], row["client_cpu_share"]) == (1.5, 0.25)
    assert row.get("client_lag_ms") == (pytest.approx(50.0) if arrivals else None), "what is due says when it was sent"
    assert not {"client_loop_lag_ms", "client_cpu_share"} & set(result_columns(PROMPTS, ANSWER, 1)), "no client of its own"


def test_plain_has_no_acceptance() -> None:
    plain = {
        **ANSWER,
        "requests": [{**one, "accepted_histogram": [], "rounds": 0, "drafted": 0, "accepted": 0} for one in ANSWER["requests"]],
    }
    row = result_columns(PROMPTS, plain, 1)
    assert "accept_length" not in row and "rounds" not in row
    assert request_rows("x", PROMPTS, plain["requests"])[0]["rounds"] is None


@pytest.mark.parametrize(
    ("outputs", "share"), [([[1, 2, 3, 4, 5]], 1.0), ([[7] * 9], 1 / 6), ([[1, 2]], None), ([[7] * 9, [1, 2, 3, 4]], 2 / 7)]
)
def test_distinct_share(outputs: list[list[int]], share: float | None) -> None:
    assert metrics.distinct_share(outputs) == (None if share is None else pytest.approx(share))


def test_percentile_interpolates() -> None:
    assert metrics.percentile([4, 1, 3, 2], 0.5) == 2.5
    assert metrics.percentile(list(range(101)), 0.99) == 99


def test_trace_places_anchor_drafts_and_bonus() -> None:
    cell = Cell("window", dspark(2), Workload("window", "code", 1, 10), 10, 5, 1, 0)
    rounds = [
        {
            "start_s": 0.1,
            "draft_ms": 1.0,
            "verify_ms": 4.0,
            "commit_ms": 0.5,
            "drafted": [6, 99],
            "accepted": 1,
            "emitted": [6, 7],
            "draft_probs": [0.5, 0.25],
            "target_probs": [0.75, 0.0],
        },
        {
            "start_s": 0.2,
            "draft_ms": 1.0,
            "verify_ms": 4.0,
            "commit_ms": 0.5,
            "drafted": [8, 9],
            "accepted": 2,
            "emitted": [8],
            "draft_probs": [],
            "target_probs": [],
        },
    ]
    one = {**record(0, [5, 6, 7, 8], 0.0, 0.1, 0.3, [0, 1, 1]), "trace": rounds}
    rows = trace_rows(cell, "local", PROMPTS[0], one, str)
    seen = [(row["round"], row["role"], row["slot"], row["position"], row["token"], row.get("accepted"), row["emitted"]) for row in rows]
    assert seen == [
        (0, "anchor", 0, 10, 5, None, 0),
        (0, "draft", 1, 11, 6, 1, 1),
        (0, "draft", 2, 12, 99, 0, 0),
        (0, "bonus", 2, 12, 7, None, 1),
        # the last round was cut by max_tokens: its bonus never reached the user
        (1, "anchor", 0, 12, 7, None, 0),
        (1, "draft", 1, 13, 8, 1, 1),
        (1, "draft", 2, 14, 9, 1, 0),
    ]


def test_tokens_that_a_client_read_all_at_once_have_no_time_between_them() -> None:
    """A zero would be a perfect time, and has no logarithm: comparisons leave such a cell out."""
    assert metrics.tpot_ms(1.0, 1.0, 5) is None is metrics.tpot_ms(1.0, 2.0, 1)
    point = {"stage": "aa", "status": "ok", "boot": 0, "order": 0}
    rows = [{**point, "label": "a", "mean_tpot_ms": None}, {**point, "label": "b", "mean_tpot_ms": 2.0}]
    assert pair_values(rows, "aa", ("a", "b"), "mean_tpot_ms") == {}
    assert against_base([{**row, "label": "base"} for row in rows[1:]] + rows[:1], stage="aa") == {}
